"""P-256 keys, HKDF and AES-256-GCM, for a peer of ours that needs nothing beyond Python's own library. For tests: it is
slow, and it does not hide its secrets from who measures it."""

import hashlib
import hmac
import secrets

# MARK: P-256 (FIPS 186-4, D.1.2.3)

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
_G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
      0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def _add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % _P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, _P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, _P)
    x = (slope * slope - a[0] - b[0]) % _P
    return x, (slope * (a[0] - x) - a[1]) % _P


def _multiply(scalar, point):
    result = None
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


class PrivateKey:
    def __init__(self, scalar=None):
        self._scalar = int.from_bytes(scalar, "big") if scalar else 1 + secrets.randbelow(_N - 1)
        x, y = _multiply(self._scalar, _G)
        self.public = b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")

    def shared(self, public):
        """The x coordinate of the shared point."""
        x, y = int.from_bytes(public[1:33], "big"), int.from_bytes(public[33:], "big")
        if len(public) != 65 or public[0] != 4 or (y * y - x * x * x + 3 * x - _B) % _P:
            raise ValueError("no point of the curve")
        return _multiply(self._scalar, (x, y))[0].to_bytes(32, "big")


# MARK: HKDF (RFC 5869)

def hkdf(secret, salt, info, count):
    key = hmac.new(salt, secret, hashlib.sha256).digest()
    output = block = b""
    while len(output) < count:
        block = hmac.new(key, block + info + bytes([len(output) // 32 + 1]), hashlib.sha256).digest()
        output += block
    return output[:count]


# MARK: AES-256 (FIPS 197) and GCM (NIST SP 800-38D)

def _double(byte):
    return (byte << 1 ^ (0x1B if byte & 0x80 else 0)) & 0xFF


def _make_box():
    box, p, q = [0] * 256, 1, 1
    while True:
        p ^= _double(p)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        if q & 0x80:
            q ^= 0x09
        x = q
        for shift in (1, 2, 3, 4):
            x ^= (q << shift | q >> 8 - shift) & 0xFF
        box[p] = x ^ 0x63
        if p == 1:
            break
    box[0] = 0x63
    return box


_BOX = _make_box()
# One column of SubBytes and MixColumns for each byte.
_COLUMNS = [int.from_bytes(bytes([_double(s), s, s, _double(s) ^ s]), "big") for s in _BOX]


class AES256:
    def __init__(self, key):
        words = [int.from_bytes(key[i:i + 4], "big") for i in range(0, 32, 4)]
        constant = 1
        for index in range(8, 60):
            word = words[-1]
            if index % 8 == 0:
                word = self._substitute((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
                constant = _double(constant)
            elif index % 8 == 4:
                word = self._substitute(word)
            words.append(words[-8] ^ word)
        self._keys = words

    @staticmethod
    def _substitute(word):
        return int.from_bytes(bytes(_BOX[byte] for byte in word.to_bytes(4, "big")), "big")

    def encrypt(self, block):
        state = [int.from_bytes(block[i:i + 4], "big") ^ self._keys[i // 4] for i in range(0, 16, 4)]
        for turn in range(1, 14):
            keys = self._keys[turn * 4:turn * 4 + 4]
            columns = []
            for i in range(4):
                a, b = _COLUMNS[state[i] >> 24], _COLUMNS[state[(i + 1) % 4] >> 16 & 0xFF]
                c, d = _COLUMNS[state[(i + 2) % 4] >> 8 & 0xFF], _COLUMNS[state[(i + 3) % 4] & 0xFF]
                columns.append((a ^ (b >> 8 | b << 24) ^ (c >> 16 | c << 16) ^ (d >> 24 | d << 8)) & 0xFFFFFFFF ^ keys[i])
            state = columns
        last = bytes(_BOX[state[(i // 4 + i % 4) % 4] >> 24 - 8 * (i % 4) & 0xFF] for i in range(16))
        key = b"".join(word.to_bytes(4, "big") for word in self._keys[56:])
        return bytes(a ^ b for a, b in zip(last, key))


class GCM:
    def __init__(self, key):
        self._aes = AES256(key)
        point = int.from_bytes(self._aes.encrypt(bytes(16)), "big")
        self._powers = []
        for _ in range(128):
            self._powers.append(point)
            point = point >> 1 ^ (0xE1 << 120 if point & 1 else 0)

    def _hash(self, text, associated):
        def blocks():
            for data in (associated, text):
                for start in range(0, len(data), 16):
                    yield int.from_bytes(data[start:start + 16].ljust(16, b"\0"), "big")
            yield len(associated) * 8 << 64 | len(text) * 8
        value = 0
        for block in blocks():
            value ^= block
            product, bit = 0, 0
            while value:
                if value >> 127 - bit & 1:
                    product ^= self._powers[bit]
                    value ^= 1 << 127 - bit
                bit += 1
            value = product
        return value.to_bytes(16, "big")

    def _stream(self, nonce, text):
        output = b""
        for number, start in enumerate(range(0, len(text), 16), 2):
            key = self._aes.encrypt(nonce + number.to_bytes(4, "big"))
            output += bytes(a ^ b for a, b in zip(text[start:start + 16], key))
        return output

    def _tag(self, nonce, text, associated):
        key = self._aes.encrypt(nonce + b"\0\0\0\1")
        return bytes(a ^ b for a, b in zip(self._hash(text, associated), key))

    def seal(self, nonce, text, associated):
        """Ciphertext and tag."""
        sealed = self._stream(nonce, text)
        return sealed + self._tag(nonce, sealed, associated)

    def open(self, nonce, sealed, associated):
        text, tag = sealed[:-16], sealed[-16:]
        if not hmac.compare_digest(tag, self._tag(nonce, text, associated)):
            raise ValueError("not sealed with this key")
        return self._stream(nonce, text)
