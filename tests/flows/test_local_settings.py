"""Settings files of Prefect in the current folder are read only if the configuration names the server."""

import asyncio
import contextlib
import os
import subprocess
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ndcg_ab.config import environment
from tests.loopback import Asked, Said, serving
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import configuration
from tests.small_evaluation import small

URL = "http://127.0.0.1:1/api"
NOTICE = (
    "ndcg-ab: Prefect's settings in {} (current folder) are not followed: set them in the environment, or name the"
    " server with prefect.api_url\n"
)


def planted(url: str) -> dict[str, dict[str, str]]:
    """Files that name a server and a password, by what they are."""
    profile = f'active = "a"\n[profiles.a]\nPREFECT_API_URL = "{url}"\nPREFECT_API_AUTH_STRING = "planted:word"\n'
    return {
        "variables": {".env": f"PREFECT_API_URL={url}\nPREFECT_API_AUTH_STRING=planted:word\n"},
        "exported": {".env": f"export prefect_api_url={url}\nexport PREFECT_API_AUTH_STRING=planted:word\n"},
        "settings": {"prefect.toml": f'[api]\nurl = "{url}"\nauth_string = "planted:word"\n'},
        "a project": {"pyproject.toml": f'[tool.prefect.api]\nurl = "{url}"\nauth_string = "planted:word"\n'},
        "profiles": {".env": "PREFECT_PROFILES_PATH=p.toml\n", "p.toml": profile},
        "profiles of a project": {"pyproject.toml": '[tool.prefect]\nprofiles_path = "p.toml"\n', "p.toml": profile},
        "a home": {"prefect.toml": 'home = "."\n', "profiles.toml": profile},
        "all of them": {
            ".env": f"PREFECT_API_URL={url}\nPREFECT_API_AUTH_STRING=planted:word\nPREFECT_PROFILES_PATH=p.toml\n",
            "prefect.toml": f'home = "."\n[api]\nurl = "{url}"\nauth_string = "planted:word"\n',
            "pyproject.toml": f'[tool.prefect.api]\nurl = "{url}"\nauth_string = "planted:word"\n',
            "p.toml": profile,
            "profiles.toml": profile,
        },
    }


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without a server that the environment names."""
    found = tmp_path / "here"
    found.mkdir()
    monkeypatch.chdir(found)
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    return found


def plant(here: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (here / name).write_text(text)


@pytest.mark.parametrize("kind", [kind for kind in planted(URL) if kind != "all of them"])
def test_a_line_says_that_they_are_not_followed(
    kind: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guarded: list[str] = []
    monkeypatch.setattr(environment, "guard_prefect", lambda: guarded.append("yes"))
    files = planted(URL)[kind]
    plant(here, files)
    environment.prepare_environment(small(here.parent))
    assert capsys.readouterr().err == NOTICE.format(next(iter(files)))
    monkeypatch.setenv("PREFECT_API_URL", URL)
    environment.prepare_environment(small(here.parent))
    assert capsys.readouterr().err == NOTICE.format(next(iter(files)))
    environment.prepare_environment(small(here.parent, prefect={"api_url": URL}))
    assert (capsys.readouterr().err, guarded) == ("", ["yes", "yes"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "ours"\ndependencies = ["prefect"]\n'),
        ("pyproject.toml", "[tool.prefect.server]\nanalytics_enabled = false\n"),
        (".env", "OURS=1\n# PREFECT_API_URL\n"),
        ("prefect.toml", "\n"),
        ("profiles.toml", "prefect"),
    ],
)
def test_files_of_something_else_are_no_matter(name: str, text: str, here: Path) -> None:
    (here / name).write_text(text)
    assert environment.find_local_settings() == []


def test_what_does_not_end_is_not_read(here: Path) -> None:
    os.mkfifo(here / ".env")
    (here / "prefect.toml").symlink_to("/dev/zero")
    assert environment.find_local_settings() == []


SHOW = (
    "import sys\nfrom pathlib import Path\nfrom ndcg_ab.config.loading.file import read_config\n"
    "from ndcg_ab.config.environment import prepare_environment\n"
    "prepare_environment(read_config(Path(sys.argv[1]), ()))\n"
    "from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES\n"
    "from prefect.settings import temporary_settings\n"
    "print(PREFECT_API_URL.value(), PREFECT_API_AUTH_STRING.value())\n"
    "with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 1}):\n"
    "    print(PREFECT_API_URL.value(), PREFECT_API_AUTH_STRING.value())\n"
)


def shown(here: Path, **changes: Any) -> set[str]:
    """The address and the password that Prefect takes, at once and in a context of settings."""
    config = configuration(small(here.parent, **changes), here.parent)
    command = [sys.executable, "-c", SHOW, str(config)]
    own = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=here, env=own, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("kind", mostly_soaked([*planted(URL)], kept=["all of them"]))
def test_prefect_does_not_read_them(kind: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(here, planted(URL)[kind])
    monkeypatch.setenv("PREFECT_API_URL", "http://ours/api")
    assert shown(here) == {"http://ours/api None"}


@pytest.mark.slow
def test_a_profile_of_the_user_s_stands_and_a_configuration_lets_them_count(here: Path) -> None:
    plant(here, planted(URL)["variables"])
    (here.parent / "home").mkdir()
    profile = 'active = "a"\n[profiles.a]\nPREFECT_API_URL = "http://ours/api"\n'
    (here.parent / "home" / "profiles.toml").write_text(profile)
    assert shown(here) == {"http://ours/api None"}
    assert shown(here, prefect={"api_url": "http://theirs/api"}) == {"http://theirs/api planted:word"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", mostly_soaked(["nowhere", "in the environment", "temporary"], kept=["in the environment"])
)
def test_a_planted_server_is_asked_nothing(way: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of the environment go to the server that it names.

    A temporary server does not follow the files, either: tests/slow/test_stopping.py, in `make test`.
    """

    def answer(_: Asked) -> Said:
        return Said({}, status=404)

    with serving(answer) as theirs, serving(answer) as ours:
        for files in planted(f"{theirs.address}/api").values():
            plant(here, files)
        monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:ours")
        if way == "in the environment":
            monkeypatch.setenv("PREFECT_API_URL", f"{ours.address}/api")
        prefect = {"server": "temporary"} if way == "temporary" else {}
        config = configuration(small(here.parent, prefect=prefect, tracker="json_lines"), here.parent)
        command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "run", str(config), "--quiet"]
        own = os.environ | {"PYTHONPATH": str(ROOT)}
        found = subprocess.run(command, cwd=here, env=own, capture_output=True, text=True, check=False)
        assert theirs.asked == []
        assert bool(ours.asked) == (way == "in the environment")
    assert found.returncode == 0, found.stderr
    assert found.stderr.startswith(NOTICE.format(".env, prefect.toml, pyproject.toml")), found.stderr


@pytest.mark.slow
def test_a_run_of_serve_does_not_follow_files_that_appear_later(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run reads its flow run from the server; `make soak` does all of it against a real one (end_to_end.py)."""
    from prefect.runner import runner
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from ndcg_ab.flows import schedules

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(schedules, "guard_prefect", lambda: None)  # it would stay in the process of the tests
    monkeypatch.setattr(runner, "EngineCommandStarter", schedules.EngineCommandStarter)
    schedules.ignore_local_settings()
    plant(here, planted(URL)["all of them"])
    monkeypatch.chdir(here.parent)
    starter = runner.EngineCommandStarter(cwd=here, stream_output=False)
    with contextlib.ExitStack() as ended:
        ours = ended.enter_context(serving(lambda _: Said({}, status=404)))
        ended.enter_context(temporary_settings({PREFECT_API_URL: f"{ours.address}/api"}))
        asyncio.run(starter.start(SimpleNamespace(id=uuid.uuid4())))
    assert ours.asked
    assert [asked.headers.get("authorization") for asked in ours.asked] == [None] * len(ours.asked)


@pytest.mark.slow
@pytest.mark.parametrize("prefect", [{}, {"api_url": URL}], ids=["environment", "configuration"])
def test_serve_guards_its_runs_unless_the_configuration_names_the_server(
    prefect: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ndcg_ab.flows import schedules

    begun: list[str] = []

    def begin(**_: object) -> None:
        begun.append("serving")
        raise InterruptedError

    monkeypatch.setattr(schedules, "find_server", lambda: contextlib.nullcontext(URL))
    monkeypatch.setattr(schedules, "ignore_local_settings", lambda: begun.append("guarded"))
    monkeypatch.setattr(schedules, "Runner", begin)
    with pytest.raises(InterruptedError):
        schedules.serve([small(tmp_path, prefect=prefect)])
    assert begun == ["guarded", "serving"][len(prefect) :]
