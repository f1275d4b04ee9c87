"""Downloads from a server of our own, interrupted and spoilt."""

import hashlib
import http.server
import io
import tarfile
import threading

import pytest

import lab
from lab.data._published import Archive


class Server(http.server.ThreadingHTTPServer):
    """Serves one file; honours ranges unless told not to, and may break off after some bytes."""

    def __init__(self, content: bytes):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.ranges, self.break_after, self.asked = content, True, None, []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        start = (
            int(wanted.removeprefix("bytes=").removesuffix("-"))
            if wanted and self.server.ranges
            else 0
        )
        body = self.server.content[start:]
        if not body:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.break_after])

    def log_message(self, *_):
        pass


@pytest.fixture
def archive() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name in ("food-101/meta/train.txt", "food-101/meta/test.txt"):
            info = tarfile.TarInfo(name)
            info.size = 8
            tar.addfile(info, io.BytesIO(b"pie/123\n"))
    return file.getvalue()


@pytest.fixture
def server(archive, monkeypatch):
    made = Server(archive)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{made.server_address[1]}/food-101.tar.gz"
    known = Archive(url, "food-101.tar.gz", hashlib.md5(archive).hexdigest(), unpack=True)
    monkeypatch.setattr(lab.data.get("food101"), "archives", classmethod(lambda cls: (known,)))
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def test_it_is_fetched_checked_and_unpacked_once(server, archive, tmp_path):
    steps = list(lab.data.download("food101", str(tmp_path / "new")))
    assert steps[-1].done == steps[-1].total == len(archive)
    assert (tmp_path / "new" / "food-101" / "meta" / "train.txt").read_text() == "pie/123\n"
    assert not list(tmp_path.glob("**/*.part"))
    list(lab.data.download("food101", str(tmp_path / "new")))
    assert server.asked == [None]


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_goes_on(server, archive, tmp_path, ranges):
    server.ranges = ranges
    (tmp_path / "food-101.tar.gz.part").write_bytes(archive[:50])
    steps = list(lab.data.download("food101", str(tmp_path)))
    assert server.asked == ["bytes=50-"] and steps[-1].total == len(archive)
    assert (tmp_path / "food-101.tar.gz").read_bytes() == archive


def test_another_file_is_refused_and_removed(server, archive, tmp_path):
    server.content = archive[:-1] + b"!"
    with pytest.raises(ValueError, match="not the published file and is removed"):
        list(lab.data.download("food101", str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_no_server_gets_a_sentence(server, tmp_path, monkeypatch):
    known = Archive("http://127.0.0.1:9/food-101.tar.gz", "food-101.tar.gz", "0", unpack=True)
    monkeypatch.setattr(lab.data.get("food101"), "archives", classmethod(lambda cls: (known,)))
    with pytest.raises(ValueError, match="cannot be fetched"):
        list(lab.data.download("food101", str(tmp_path)))


@pytest.mark.parametrize("name", ["sop", "cub200", "emoji7"])
def test_sets_that_cannot_be_fetched_say_how_to_get_them(name, tmp_path):
    with pytest.raises(ValueError, match=f"{name} cannot be downloaded"):
        list(lab.data.download(name, str(tmp_path)))
