"""A hundred devices at one discovery server."""

import concurrent.futures
import http.client
import json
import os
import ssl

import pytest

import netlab
from link import Identity

COUNT = 100


def ask(lab, place, method, path, identity=None, body=None):
    """(status, headers, body) of a request on a connection of its own, as Syncthing makes it."""
    context = ssl._create_unverified_context()
    if identity:
        context.load_cert_chain(identity.certificate, identity.key)

    def exchange():
        connection = http.client.HTTPSConnection(netlab.SERVER, netlab.PORTS["discovery"], timeout=20, context=context)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()
    return place.call(exchange)


@pytest.fixture
def identities(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda number: Identity.create(os.path.join(tmp_path, str(number)), "p256"), range(COUNT)))


def test_a_hundred_devices_are_announced_and_found(network, identities):
    lab = network(servers=("discovery",))

    def announce(number):
        addresses = [f"tcp://0.0.0.0:{20000 + number}", f"tcp://192.168.1.2:{20000 + number}", f"relay://{netlab.SERVER}:1/?id=X"]
        return ask(lab, lab.home_a, "POST", "/v2/", identities[number], {"addresses": addresses})

    def lookup(number):
        identity = identities[number].id
        # As it is written, and as people type it.
        text = identity if number % 2 else identity.replace("-", "").lower()
        status, _, body = ask(lab, lab.home_b, "GET", f"/v2/?device={text}")
        return status, json.loads(body)["addresses"] if status == 200 else body

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for status, headers, _ in pool.map(announce, range(COUNT)):
            assert status == 204
            assert 3300 <= int(headers["Reannounce-After"]) <= 3600
        for _ in range(2):
            for number, (status, addresses) in enumerate(pool.map(lookup, range(COUNT))):
                port = 20000 + number
                assert (status, sorted(addresses)) == (200, sorted([
                    f"tcp://{lab.router_a.wan}:{port}", f"tcp://192.168.1.2:{port}",
                    f"relay://{netlab.SERVER}:1/?id=X"]))
            # What was announced outlives the server.
            lab.restart("discovery")


def test_an_unknown_device_is_said_to_be_unknown(network, identities):
    lab = network(servers=("discovery",))
    status, headers, _ = ask(lab, lab.home_a, "GET", f"/v2/?device={identities[0].id}")
    assert status == 404
    assert int(headers["Retry-After"]) >= 60
