"""Judges that see and hear: what is attached is fetched with care, shown, charged for and kept nowhere."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.judges.calls.estimates import IMAGE_TOKENS, prompt_tokens
from evalsvc.judges.questions.attachments import MAX_BYTES
from tests.factories import make_profile
from tests.judges.asking import Judge
from tests.judges.working import CRITERIA, results, work

PNG = b"\x89PNG\r\n\x1a\n" + b"picture " * 40
JPEG = b"\xff\xd8\xff\xe0" + b"picture " * 40
WEBP = b"RIFF\x00\x00\x00\x00WEBP" + b"picture " * 40
WAV = b"RIFF\x00\x00\x00\x00WAVE" + b"sound " * 400
MP3 = b"\xff\xfb\x90\x00" + b"sound " * 400
FILES: dict[str, tuple[int, str, bytes]] = {
    "/a.png": (200, "image/png", PNG),
    "/b.png": (200, "application/octet-stream", PNG + b"another"),
    "/a.jpg": (200, "image/jpeg", JPEG),
    "/a.webp": (200, "image/webp", WEBP),
    "/a.wav": (200, "audio/x-wav", WAV),
    "/a.mp3": (200, "audio/mpeg", MP3),
    "/tagged.mp3": (200, "audio/mpeg", b"ID3" + MP3),
    "/page.png": (200, "text/html", PNG),
    "/lie.png": (200, "image/png", b"<html>" * 10),
    "/gone.png": (404, "text/plain", b"gone"),
    "/moved.png": (302, "image/png", PNG),
    "/ill.png": (503, "text/plain", b"ill"),
    "/big.png": (200, "image/png", PNG + b"." * MAX_BYTES),
}


class Files(BaseHTTPRequestHandler):
    """Somebody's files."""

    def do_GET(self) -> None:
        status, kind, content = FILES[self.path.partition("?")[0]]
        self.send_response(status)
        self.send_header("content-type", kind)
        if "unsized" not in self.path:
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        if b"head" not in self.path.encode():
            self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def seeing(stub: RunningStub) -> Judge:
    return Judge(stub, sees_images=True, hears_audio=True)


def attached(url: str, media_type: str = "image/png", usage: str = "evaluated_model_output") -> dict[str, str]:
    return {"url": url, "media_type": media_type, "usage_type": usage}


def judged(judge: Judge, *sent: dict[str, str], evaluator: str = "judge-mm", **settings: Any) -> dict[str, Any]:
    config = {"pass_criteria": CRITERIA, "model": "stub-judge-pass", **settings}
    name = make_profile(judge.caller, "judge", **config)["name"]
    body = {
        "evaluators": [{"evaluator": evaluator, "criteria": name}],
        "evaluated_model_input": "What is it?",
        "evaluated_model_output": "A river.",
        "evaluated_model_attachments": list(sent),
        "app": "judged",
    }
    answer = judge.caller.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code in (200, 202), answer.content
    if answer.status_code == 200:
        return answer.json()["results"][0]
    work(judge.caller, int(answer.json()["id"]))
    (found,) = results(judge.caller, int(answer.json()["id"]))
    return found


def shown(judge: Judge, model: str = "stub-judge-pass") -> str:
    """What the stub was shown last by that model's name."""
    return [row["prompt"] for row in judge.stub.calls()["prompts"] if row["model"] == model][-1]


@pytest.mark.parametrize(
    ("path", "media_type", "content", "evaluator"),
    [
        ("/a.png", "image/png", PNG, "judge-image"),
        ("/b.png", "image/png", PNG + b"another", "judge-image-small"),
        ("/a.jpg", "image/jpg", JPEG, "judge-image-large"),
        ("/a.webp", "image/webp", WEBP, "judge-mm"),
        ("/a.wav", "audio/wav", WAV, "judge-audio"),
        ("/a.mp3", "audio/mp3", MP3, "judge-mm"),
        ("/tagged.mp3", "audio/mpeg", b"ID3" + MP3, "judge-audio"),
    ],
)
def test_it_is_fetched_and_shown(
    seeing: Judge, files: str, path: str, media_type: str, content: bytes, evaluator: str
) -> None:
    found = judged(seeing, attached(files + path, media_type), evaluator=evaluator)

    assert found["status"] == "success", found["error_message"]
    assert (found["evaluation_result"]["score_raw"], seeing.n_calls()) == (1.0, 1)
    written = base64.b64encode(content).decode()
    prompt = shown(seeing)
    kind = media_type.replace("jpg", "jpeg").replace("mp3", "mpeg")
    if kind.startswith("image/"):
        assert f"[image_url data:{kind};base64,"[:32] in prompt
        assert f" {len(written) + len(f'data:{kind};base64,')}]" in prompt
    else:
        assert f"[input_audio {written[:22]} {len(written)}]" in prompt
    assert f"1: {kind}, attached to output" in prompt
    assert path not in prompt


def test_the_address_is_captured_and_the_contents_are_not(seeing: Judge, files: str) -> None:
    judged(seeing, sent := attached(f"{files}/a.png"))

    row = EvaluationRequest.objects.using("system").filter(account_id=seeing.caller.account.pk).latest("pk")
    assert (row.extras or {})["attachments"] == [sent]
    assert "picture" not in str(row.__dict__)
    assert base64.b64encode(PNG).decode()[:40] not in str(row.__dict__)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/page.png", "validation_error", "does not call it image/png"),
        ("/lie.png", "validation_error", "is no image/png"),
        ("/gone.png", "validation_error", "HTTP 404"),
        ("/moved.png", "validation_error", "HTTP 302"),
        ("/big.png", "validation_error", "larger than 5 MiB"),
        ("/big.png?unsized", "validation_error", "larger than 5 MiB"),
        ("/ill.png", "error", "HTTP 503"),
    ],
)
def test_what_cannot_be_taken_is_named_and_nobody_is_asked(
    seeing: Judge, files: str, path: str, status: str, words: str
) -> None:
    found = judged(seeing, attached(f"{files}/a.png"), attached(files + path))

    assert (found["status"], found["error_code"]) == (status, "attachment_failed")
    assert "Attachment 2 " in found["error_message"] and words in found["error_message"]
    assert seeing.n_calls() == 0


@pytest.mark.parametrize(
    "url",
    [
        *("http://10.0.0.1/a.png", "http://169.254.169.254/latest", "https://[fd00::1]/a.png", "http://100.64.0.1/a"),
        *("file:///etc/passwd", "ftp://example.com/a.png", "data:image/png;base64,iVBORw0KGgo=", "nonsense"),
    ],
)
def test_addresses_within_are_not_called(seeing: Judge, url: str) -> None:
    found = judged(seeing, attached(url))

    assert (found["status"], found["error_code"]) == ("validation_error", "attachment_failed")
    assert seeing.n_calls() == 0


@pytest.mark.parametrize(
    ("marks", "path", "media_type", "mark"),
    [
        ({}, "/a.png", "image/png", "sees_images"),
        ({"hears_audio": True}, "/a.png", "image/png", "sees_images"),
        ({"sees_images": True}, "/a.wav", "audio/wav", "hears_audio"),
    ],
)
def test_a_connection_that_is_not_marked_is_not_asked(
    stub: RunningStub, files: str, marks: dict[str, Any], path: str, media_type: str, mark: str
) -> None:
    judge = Judge(stub, **marks)
    found = judged(judge, attached(files + path, media_type))

    assert (found["status"], found["error_code"]) == ("validation_error", "unsupported_input")
    assert f"Set its `{mark}`" in found["error_message"]
    assert judge.n_calls() == 0


def test_without_anything_attached_there_is_nothing_to_see(seeing: Judge) -> None:
    found = judged(seeing)

    assert (found["error_code"], seeing.n_calls()) == ("missing_input", 0)


def test_hidden_usage_is_charged_with_the_picture(seeing: Judge, files: str) -> None:
    found = judged(
        seeing, attached(f"{files}/a.png"), attached(f"{files}/a.jpg", "image/jpeg"), model="stub-judge-pass:no-usage"
    )

    used = found["evaluation_result"]["additional_info"]["extra"]["judge"]
    assert used["usage_estimated"] is True
    assert 2 * IMAGE_TOKENS < used["input_tokens"] < 3 * IMAGE_TOKENS
    assert used["cost"] == pytest.approx((used["input_tokens"] + 2 * used["output_tokens"]) / 1_000_000)


def test_a_recording_is_estimated_by_its_length() -> None:
    data = base64.b64encode(b"x" * 50_000).decode()
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}}

    assert prompt_tokens([{"role": "user", "content": [{"type": "text", "text": "x" * 35}, part]}]) == 10 + 101 + 8


def test_the_cache_knows_contents_and_not_addresses(seeing: Judge, files: str) -> None:
    calls = []
    for path in ("/a.png", "/a.png?again", "/b.png"):
        judged(seeing, attached(files + path))
        calls.append(seeing.n_calls())

    # Another address with the same picture is the same question; another picture is not.
    assert calls == [1, 1, 2]


def test_several_samples_fetch_once(seeing: Judge, files: str) -> None:
    found = judged(seeing, attached(f"{files}/a.png"), n_samples=3)

    assert found["evaluation_result"]["additional_info"]["extra"]["n_samples"] == 3
    assert seeing.n_calls() == 3


def test_its_prompt_can_be_read(seeing: Judge) -> None:
    name = make_profile(seeing.caller, "judge", pass_criteria=CRITERIA)["name"]
    prompts = seeing.caller.get(f"/v1/evaluators/judge-image/prompt?criteria={name}").json()["prompts"]

    assert {one["prompt_id"] for one in prompts} == {"judge-attached/2"}
    assert all("ATTACHMENTS are pictures or recordings" in one["system"] for one in prompts)
