"""The tutorials run as they stand; each checks its own claims."""

import pathlib
import runpy

import pytest

TUTORIALS = sorted((pathlib.Path(__file__).parent.parent / "tutorials").glob("*.py"))


def test_there_are_tutorials():
    assert [t.stem for t in TUTORIALS] == ["densities", "digits", "quantum"]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    if path.stem != "quantum":
        assert (tmp_path / f"{path.stem}.png").stat().st_size > 10_000
