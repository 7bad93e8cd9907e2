"""A system bus of our own with a NetworkManager and a UPower on it that say what a test has them say."""

import os
import sys

import dbus
from bus import Bus
from process import Child, wait_until

MOCK = "org.freedesktop.DBus.Mock"
NETWORK_MANAGER = ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager", "org.freedesktop.NetworkManager")
UPOWER = ("org.freedesktop.UPower", "/org/freedesktop/UPower", "org.freedesktop.UPower")
BATTERY = ("org.freedesktop.UPower", "/org/freedesktop/UPower/devices/DisplayDevice", "org.freedesktop.UPower.Device")
LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
# NMMetered
UNKNOWN, YES, NO, GUESS_YES, GUESS_NO = range(5)


class Machine:
    """`directory` is to be short: see `Bus`."""

    def __init__(self, directory):
        self.directory = directory
        self.bus = Bus(directory, "system")
        self.variables, self.connection = self.bus.variables, self.bus.connection
        self.services = {}

    def close(self):
        for child in self.services.values():
            child.kill()
        self.bus.close()

    def begin(self, place):
        """Has the service come, with nothing to say yet."""
        name, path, interface = place
        service = Child(name, os.path.join(self.directory, f"{name}.log"))
        service.spawn([sys.executable, "-m", "dbusmock", "--system", name, path, interface],
                      env={**os.environ, **self.variables})
        self.services[name] = service
        self.bus.wait_owner(name, service)

    def end(self, place):
        """Has the service go."""
        self.services.pop(place[0]).kill()
        wait_until(lambda: not self.connection.name_has_owner(place[0]), 20, f"{place[0]} has gone")

    def _mock(self, place):
        return dbus.Interface(self.connection.get_object(place[0], place[1], introspect=False), MOCK)

    def network(self, metered):
        """NetworkManager comes and says so from the start."""
        self.begin(NETWORK_MANAGER)
        self._mock(NETWORK_MANAGER).AddProperty(NETWORK_MANAGER[2], "Metered", dbus.UInt32(metered))
        self.set_metered(metered)

    def set_metered(self, metered):
        self._mock(NETWORK_MANAGER).UpdateProperties(
            NETWORK_MANAGER[2], dbus.Dictionary({"Metered": dbus.UInt32(metered)}, signature="sv"))

    def power(self, on_battery, charge):
        self.begin(UPOWER)
        self._mock(UPOWER).AddProperty(UPOWER[2], "OnBattery", on_battery)
        self._mock(UPOWER).AddObject(
            BATTERY[1], BATTERY[2], dbus.Dictionary({"Percentage": dbus.Double(charge)}, signature="sv"),
            dbus.Array([], signature="(ssss)"))
        self.set_power(on_battery, charge)

    def set_power(self, on_battery, charge):
        self._mock(BATTERY).UpdateProperties(
            BATTERY[2], dbus.Dictionary({"Percentage": dbus.Double(charge)}, signature="sv"))
        self._mock(UPOWER).UpdateProperties(
            UPOWER[2], dbus.Dictionary({"OnBattery": dbus.Boolean(on_battery)}, signature="sv"))

    def sleep_manager(self):
        """logind comes, whose sleep may be held up."""
        self.begin(LOGIND)
        mock = self._mock(LOGIND)
        # The mock keeps one end of a pipe, which ends when nobody has the other one any more.
        mock.AddMethod(
            LOGIND[2], "Inhibit", "ssss", "h",
            "import os; self.held, other = os.pipe(); ret = dbus.types.UnixFd(other); os.close(other)")
        mock.AddMethod(
            LOGIND[2], "IsHeld", "", "b",
            "import select; ret = hasattr(self, 'held') and not select.select([self.held], [], [], 0)[0]")

    def is_held_awake(self):
        manager = self.connection.get_object(LOGIND[0], LOGIND[1], introspect=False)
        return bool(dbus.Interface(manager, LOGIND[2]).IsHeld())

    def sleep(self, begins):
        """Says that the machine is about to sleep, or has woken."""
        self._mock(LOGIND).EmitSignal(LOGIND[2], "PrepareForSleep", "b", dbus.Array([dbus.Boolean(begins)], signature="v"))
