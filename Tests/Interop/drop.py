"""`synctrain drop` as a process that a test talks to."""

from pairing import PairCommand


class SendCommand(PairCommand):
    WORDS = ("drop", "send")


class ReceiveCommand(PairCommand):
    WORDS = ("drop", "receive")


def confirm_both(sending, receiving, timeout=20):
    """Both show the same digits, and both are told yes. The sender's event."""
    shown = sending.event("code", timeout)
    assert receiving.event("code", timeout)["code"] == shown["code"]
    for command in (sending, receiving):
        command.type(shown["code"] + "\n")
    return shown
