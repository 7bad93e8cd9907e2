"""Thumbnails of what a real node holds and this agent does not keep: what they show, and how little is fetched for them."""

import base64
import hashlib
import http.server
import json
import os
import re
import shutil
import socketserver
import struct
import subprocess
import threading
import urllib.parse
import zlib

import agent as cli
import pytest
from process import wait_until

BLOCK = 128 << 10
MIB = 1 << 20


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-y", *map(str, arguments)], check=True, timeout=120)


def pixels(jpeg):
    """Width, height and the mean red, green and blue of what a program of others' decodes."""
    probe = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,width,height", "-of", "json",
                            "-f", "mjpeg", "-i", "-"], input=jpeg, capture_output=True, check=True, timeout=60)
    stream, = json.loads(probe.stdout)["streams"]
    raw = subprocess.run(["ffmpeg", "-v", "error", "-f", "mjpeg", "-i", "-", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                         input=jpeg, capture_output=True, check=True, timeout=60).stdout
    assert len(raw) == 3 * stream["width"] * stream["height"] and stream["codec_name"] == "mjpeg"
    return stream["width"], stream["height"], tuple(sum(raw[i::3]) * 3 // len(raw) for i in range(3))


def is_red(color):
    return color[0] > 200 and color[1] < 60 and color[2] < 60


def is_blue(color):
    return color[2] > 200 and color[0] < 60 and color[1] < 60


def with_preview(photo, preview, orientation=1):
    """A photo as cameras write it: its preview in a segment of its own."""
    def entry(tag, kind, value):
        return struct.pack(">HHI", tag, kind, 1) + (struct.pack(">HH", value, 0) if kind == 3 else struct.pack(">I", value))
    first = struct.pack(">H", 1) + entry(0x112, 3, orientation)
    end = 8 + len(first) + 4
    start = end + 2 + 36 + 4
    tiff = (b"MM\0*" + struct.pack(">I", 8) + first + struct.pack(">I", end) + struct.pack(">H", 3)
            + entry(0x103, 3, 6) + entry(0x201, 4, start) + entry(0x202, 4, len(preview)) + bytes(4) + preview)
    body = b"Exif\0\0" + tiff
    return photo[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + photo[2:]


def png(width, height, color_type, interlace, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, interlace))
            + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


class Canary(http.server.BaseHTTPRequestHandler):
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def setting(nodes):
    lab, node, agent = nodes
    root = lab.folder_path(node, "media")
    os.makedirs(root)
    path = lambda name: os.path.join(root, name)  # noqa: E731

    # A photo of several MiB, blue, with a red preview: which of them is shown tells what was read.
    ffmpeg("-f", "lavfi", "-i", "color=blue:s=3000x2000", "-vf", "noise=alls=90:allf=t", "-frames:v", 1, "-q:v", 1,
           path("plain.jpg"))
    ffmpeg("-f", "lavfi", "-i", "color=red:s=160x120", "-frames:v", 1, lab.path("preview.jpg"))
    with open(path("plain.jpg"), "rb") as photo, open(lab.path("preview.jpg"), "rb") as preview:
        photo, preview = photo.read(), preview.read()
    assert len(photo) > 8 * BLOCK
    for name, orientation in (("photo.jpg", 1), ("turned.jpg", 6)):
        with open(path(name), "wb") as file:
            file.write(with_preview(photo, preview, orientation))
    for name in ("small.png", "small.webp", "small.tif", "small.gif", "small.heic"):
        subprocess.run(["vips", "copy", lab.path("preview.jpg"), path(name)], check=True, timeout=60)

    # Films of 12 MiB and more that begin red and go on blue, their description at the end and at the beginning.
    ffmpeg("-f", "lavfi", "-i", "color=red:s=1280x720:d=1:r=25", "-f", "lavfi", "-i",
           "color=blue:s=1280x720:d=5:r=25,noise=alls=70:allf=t", "-f", "lavfi", "-i", "sine=d=6", "-filter_complex",
           "[0:v][1:v]concat=n=2[v]", "-map", "[v]", "-map", "2:a", "-c:v", "libx264", "-preset", "ultrafast", "-b:v", "18M",
           "-pix_fmt", "yuv420p", "-c:a", "aac", path("film.mp4"))
    assert os.path.getsize(path("film.mp4")) > 64 * BLOCK
    ffmpeg("-i", path("film.mp4"), "-c", "copy", "-movflags", "+faststart", path("web.mp4"))
    ffmpeg("-i", path("film.mp4"), "-c", "copy", "-movflags", "+frag_keyframe+empty_moov", path("pieces.mp4"))
    ffmpeg("-i", path("film.mp4"), "-c", "copy", path("film.mkv"))
    ffmpeg("-i", path("film.mp4"), "-c", "copy", path("film.ts"))
    ffmpeg("-f", "lavfi", "-i", "sine=d=2", "-c:a", "aac", path("sound.mp4"))

    canary = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Canary)
    threading.Thread(target=canary.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{canary.server_address[1]}"
    row = zlib.compressobj(9)
    bomb = b"".join(row.compress(bytes(50_001)) for _ in range(50_000)) + row.flush()
    hostile = {
        "bomb.png": png(50_000, 50_000, 0, 0, bomb),
        # It says that it is small, and is not: what decodes it finds out.
        "liar.png": png(20_000, 12_000, 6, 1, bomb),
        "cut.jpg": photo[:len(photo) // 2],
        "cut.mp4": open(path("web.mp4"), "rb").read()[:3000],
        "noise.jpg": b"\xff\xd8\xff" + os.urandom(5000),
        "noise.mkv": b"\x1a\x45\xdf\xa3" + os.urandom(5000),
        "drawing.jpg": b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="99" '
                       b'height="99"><image xlink:href="file:///etc/passwd" width="99" height="99"/></svg>',
        "drawing.svg": b"<svg/>",
        "list.mp4": f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{address}/film.ts\n#EXTINF:1,\n"
                    f"file://{path('film.ts')}\n#EXT-X-ENDLIST\n".encode(),
        "list.mkv": f"ffconcat version 1.0\nfile '{path('film.mkv')}'\n".encode(),
        "empty.jpg": b"",
        "text.txt": b"hello",
    }
    for name, data in hostile.items():
        with open(path(name), "wb") as file:
            file.write(data)
    os.symlink("photo.jpg", path("link.jpg"))
    lab.share(agent, "media", node)
    count = len(os.listdir(root)) - sum(name.startswith(".") for name in os.listdir(root)) - 1
    node.wait_scanned("media", count)
    agent.wait_global("media", count)
    yield lab, node, agent, root, hostile
    canary.shutdown()


def bytes_in(agent, device):
    return next(d["bytesIn"] for d in agent.status()["devices"] if d["id"] == device)


def thumbnail(agent, path):
    return agent.run("thumbnail", path).stdout


def cost(agent, node, path):
    """A thumbnail, and how many blocks came for it."""
    before = bytes_in(agent, node.id)
    made = thumbnail(agent, path)
    return made, round((bytes_in(agent, node.id) - before) / BLOCK, 1)


def test_a_photos_preview_costs_a_block(setting):
    _, node, agent, root, _ = setting
    made, blocks = cost(agent, node, "media:photo.jpg")
    print(f"photo.jpg: {blocks} of {os.path.getsize(os.path.join(root, 'photo.jpg')) / BLOCK:.0f} blocks")
    width, height, color = pixels(made)
    # The photo is 3:2 and its preview 4:3: what sticks out is cut off.
    assert is_red(color) and (width, height) == (160, 106) and 0.9 < blocks < 1.3
    made, blocks = cost(agent, node, "media:turned.jpg")
    assert pixels(made)[:2] == (106, 160) and 0 <= blocks < 1.3
    # Asked again, nothing is fetched.
    assert cost(agent, node, "media:photo.jpg")[1] < 0.1


def test_a_photo_without_a_preview_is_read_whole(setting):
    _, node, agent, root, _ = setting
    made, blocks = cost(agent, node, "media:plain.jpg")
    width, height, color = pixels(made)
    assert (width, height) == (255, 170) and color[2] > 120 > color[0]
    # Its tail is that of the photos above, whose blocks lie otherwise.
    size = os.path.getsize(os.path.join(root, "plain.jpg")) / BLOCK
    assert size - 0.5 < blocks < size * 1.1 + 0.5


@pytest.mark.parametrize("kind", ["png", "webp", "tif", "gif", "heic"])
def test_other_pictures(setting, kind):
    _, _, agent, _, _ = setting
    width, height, color = pixels(thumbnail(agent, f"media:small.{kind}"))
    # Not made larger than it is.
    assert (width, height) == (160, 120) and is_red(color)


@pytest.mark.parametrize("name, most", [
    ("film.mp4", 2), ("web.mp4", 1), ("pieces.mp4", 2), ("film.mkv", 2), ("film.ts", 2)])
def test_a_film_costs_its_first_picture(setting, name, most):
    _, node, agent, root, _ = setting
    made, blocks = cost(agent, node, f"media:{name}")
    width, height, color = pixels(made)
    assert (width, height) == (255, 143) and is_red(color)
    print(f"{name}: {blocks} of {os.path.getsize(os.path.join(root, name)) / BLOCK:.0f} blocks")
    assert blocks < most + 0.4


def test_what_gives_none(setting):
    lab, node, agent, root, hostile = setting
    for name in (*hostile, "sound.mp4", "link.jpg"):
        result = agent.try_run("thumbnail", f"media:{name}", "--json")
        assert result.returncode == cli.FAILED, name
        error = json.loads(result.stderr or result.stdout)
        assert error["code"] == "no-thumbnail", (name, error)
    assert agent.try_run("thumbnail", "media:nowhere.jpg").returncode == cli.NO_SUCH
    assert Canary.asked == []
    # Remembered: a second look asks nobody and runs nothing.
    before = bytes_in(agent, node.id)
    assert agent.try_run("thumbnail", "media:liar.png").returncode == cli.FAILED
    assert bytes_in(agent, node.id) - before < BLOCK // 10
    # Nothing is left over, and nothing was made here.
    assert os.listdir(os.path.join(agent.home, "thumbnails.work")) == []


def test_by_content(setting):
    """A PNG that is called a JPEG is read as what it is; the name of the cached file is Sushitrain's."""
    _, node, agent, root, _ = setting
    shutil.copy(os.path.join(root, "small.png"), os.path.join(root, "other.jpg"))
    node.scan("media")
    agent.wait_entry("media:other.jpg", lambda entry: entry is not None)
    before = bytes_in(agent, node.id)
    assert is_red(pixels(thumbnail(agent, "media:other.jpg"))[2])
    assert bytes_in(agent, node.id) - before < BLOCK // 10, "the same content has the same thumbnail"
    with open(os.path.join(root, "small.png"), "rb") as file:
        blocks = hashlib.sha256(hashlib.sha256(file.read()).digest()).digest()
    key = re.sub("[^a-z0-9]", "", base64.b64encode(blocks).decode().lower())
    cached = os.path.join(agent.home, "thumbnails", key[0], key[1], key[2:] + ".jpg")
    with open(cached, "rb") as file:
        assert file.read() == thumbnail(agent, "media:small.png")

    # What another program put there is shown; what is no thumbnail is made anew.
    with open(cached, "wb") as file:
        file.write(b"<script>alert(1)</script>")
    assert is_red(pixels(thumbnail(agent, "media:small.png"))[2])
    with open(os.path.join(root, "plain.jpg"), "rb") as large, open(cached, "wb") as file:
        file.write(large.read(100_000))
    assert pixels(thumbnail(agent, "media:small.png"))[:2] == (160, 120)


def test_over_http(setting):
    _, _, agent, _, _ = setting
    query = urllib.parse.urlencode({"path": "media:small.png"})
    answer = subprocess.run(["curl", "-s", "-i", "--unix-socket", agent.socket, f"http://agent/v1/thumbnail?{query}"],
                            capture_output=True, check=True, timeout=60).stdout
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b" 200 " in head.split(b"\r\n")[0] and b"content-type: image/jpeg" in head.lower()
    assert body == thumbnail(agent, "media:small.png")
    answer = subprocess.run(["curl", "-s", "--unix-socket", agent.socket, "-w", "%{http_code}",
                             "http://agent/v1/thumbnail?path=media:text.txt"],
                            capture_output=True, check=True, timeout=60).stdout
    assert answer.endswith(b"404") and b'"no-thumbnail"' in answer


def test_many_at_once(setting):
    """As a page asks: all of them at the same time, and leaves before all are there."""
    _, _, agent, root, _ = setting
    names = ["small.png", "small.webp", "small.tif", "small.gif", "film.ts", "film.mkv", "web.mp4", "photo.jpg"] * 4
    shutil.rmtree(os.path.join(agent.home, "thumbnails"))
    running = [subprocess.Popen(agent.command("thumbnail", f"media:{name}"), env=agent.environment,
                                stdout=subprocess.PIPE) for name in names]
    for process in running[::3]:
        process.kill()
    for index, process in enumerate(running):
        output = process.communicate(timeout=120)[0]
        if index % 3:
            assert output.startswith(b"\xff\xd8"), names[index]
    wait_until(lambda: os.listdir(os.path.join(agent.home, "thumbnails.work")) == [], 20, "all are done")


def test_limits_and_a_shared_folder(setting):
    lab, node, agent, root, _ = setting
    with open(agent.file("config.toml")) as file:
        text = file.read()
    thumbs = lab.share(agent, "thumbs", node)
    agent.run("select", "thumbs:all")
    with open(agent.file("config.toml")) as file:
        text = file.read()
    changed = text.replace('fetch-limit = "16 MiB"', 'fetch-limit = "1 MiB"')
    changed = changed.replace("# directory = \".thumbnails\"", 'folder = "thumbs"\ndirectory = "all"')
    assert changed != text
    agent.stop()
    with open(agent.file("config.toml"), "w") as file:
        file.write(changed)
    shutil.rmtree(os.path.join(agent.home, "thumbnails"))
    shutil.rmtree(os.path.join(agent.home, "blocks"))
    agent.start()
    agent.wait_connected(node.id)
    result = agent.try_run("thumbnail", "media:plain.jpg")
    assert result.returncode == cli.FAILED and b"fetch-limit" in result.stderr
    made = thumbnail(agent, "media:film.mp4")
    # It is an ordinary file of the folder, which the node gets.
    found = [os.path.join(d, n) for d, _, names in os.walk(os.path.join(thumbs, "all")) for n in names]
    assert len(found) == 1 and open(found[0], "rb").read() == made
    relative = os.path.relpath(found[0], thumbs)
    there = os.path.join(lab.folder_path(node, "thumbs"), relative)
    wait_until(lambda: os.path.exists(there), 30, "the node has the thumbnail")
    assert open(there, "rb").read() == made

    # One that another device made is shown, though this device could not afford to make it; and one that is no
    # thumbnail is not.
    with open(os.path.join(root, "plain.jpg"), "rb") as file:
        data = file.read()
    hashes = b"".join(hashlib.sha256(data[i:i + BLOCK]).digest() for i in range(0, len(data), BLOCK))
    key = re.sub("[^a-z0-9]", "", base64.b64encode(hashlib.sha256(hashes).digest()).decode().lower())
    agent.run("deselect", "thumbs:all")
    theirs = f"all/{key[0]}/{key[1]}/{key[2:]}.jpg"
    os.makedirs(os.path.dirname(os.path.join(lab.folder_path(node, "thumbs"), theirs)), exist_ok=True)
    for content, is_shown in ((b"<html>", False), (made, True)):
        with open(os.path.join(lab.folder_path(node, "thumbs"), theirs), "wb") as file:
            file.write(content)
        node.scan("thumbs")
        agent.wait_entry(f"thumbs:{theirs}", lambda entry: entry and entry["size"] == len(content))
        result = agent.try_run("thumbnail", "media:plain.jpg")
        assert (result.returncode == cli.DONE and result.stdout == made) == is_shown


def test_without_the_programs(setting):
    """Runs last in this module: it changes what the agent may use."""
    lab, _, agent, _, _ = setting
    out = lab.path("out.jpg")
    agent.run("thumbnail", "media:photo.jpg", "-o", out)
    assert is_red(pixels(open(out, "rb").read())[2])
    assert agent.try_run("thumbnail", "media:photo.jpg", "-o", out).returncode == cli.FAILED
    agent.run("thumbnail", "media:photo.jpg", "-o", out, "--force")
    with open(agent.file("config.toml")) as file:
        text = file.read()
    agent.stop()
    head, tail = text.split("[thumbnails]")
    with open(agent.file("config.toml"), "w") as file:
        file.write(head + "[thumbnails]" + tail.replace("enabled = true", "enabled = false", 1))
    agent.start()
    result = agent.try_run("thumbnail", "media:photo.jpg")
    assert result.returncode == cli.FAILED and b"enabled = true" in result.stderr
