"""The tray icon in the panel of Xfce: seen as pixels, pressed with the mouse and the keyboard."""

import os
import shutil
import subprocess

import pytest
from bus import Browser
from desktop import Desktop
from process import Child, wait_until

WIDTH, HEIGHT = 1000, 640
PANEL = 33
# One panel along the top with nothing in it but the tray, at its right end. No clock: nothing else is to change.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="length" type="uint" value="100"/>
      <property name="size" type="uint" value="32"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/><value type="int" value="2"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator">
      <property name="expand" type="bool" value="true"/><property name="style" type="uint" value="0"/>
    </property>
    <property name="plugin-2" type="string" value="systray"><property name="square-icons" type="bool" value="true"/></property>
  </property>
</channel>
"""

pytestmark = pytest.mark.skipif(not shutil.which("xfce4-panel"), reason="needs the panel of Xfce")


class Panel(Child):
    """The panel on a session bus of its own, whose `address` others need."""

    def __init__(self, desktop):
        super().__init__("panel", os.path.join(desktop.place, "panel.log"))
        self.desktop = desktop
        channels = os.path.join(desktop.home, ".config/xfce4/xfconf/xfce-perchannel-xml")
        os.makedirs(channels)
        with open(os.path.join(channels, "xfce4-panel.xml"), "w") as file:
            file.write(SETTINGS)
        note = os.path.join(desktop.place, "bus-address")
        script = 'echo "$DBUS_SESSION_BUS_ADDRESS" > "$0.new"; mv "$0.new" "$0"; exec xfce4-panel --disable-wm-check'
        self.spawn(["dbus-run-session", "--", "sh", "-c", script, note], env=desktop.environment, cwd=desktop.home)
        wait_until(lambda: os.path.exists(note), 20, "the session bus is there", child=self)
        with open(note) as file:
            self.address = file.read().strip()

    def pixels(self, height=HEIGHT):
        """The uppermost lines of the screen: three bytes for a pixel."""
        shown = subprocess.run(["import", "-silent", "-window", "root", "-depth", "8", "-crop", f"{WIDTH}x{height}+0+0", "rgb:-"],
                               env=self.desktop.environment, check=True, capture_output=True).stdout
        assert len(shown) == WIDTH * height * 3
        return shown

    def press(self, *words):
        self.desktop.point(*words)


def icon_in(line):
    """The middle of what has a colour, as (x, y); None where all is grey."""
    coloured = [at // 3 for at in range(0, len(line), 3) if max(line[at:at + 3]) - min(line[at:at + 3]) > 60]
    across, down = [at % WIDTH for at in coloured], [at // WIDTH for at in coloured]
    return ((min(across) + max(across)) // 2, (min(down) + max(down)) // 2) if coloured else None


@pytest.fixture
def shown(module_lab):
    """An agent, its browser, the panel, and where the icon is."""
    lab = module_lab
    agent = lab.agent("laptop", start=False)
    desktop = Desktop(lab.directory("desktop"), os.path.join(agent.home, "agent.sock"))
    panel = Panel(desktop)

    # The screen is black where nothing is.
    wait_until(lambda: min(panel.pixels(PANEL)[:300]) > 100, 40, "the panel is shown", child=panel)
    assert icon_in(panel.pixels(PANEL)) is None
    browser = Browser(lab.directory("browser"))
    agent.variables |= {"DBUS_SESSION_BUS_ADDRESS": panel.address, "SYNCTRAIN_OPEN": browser.program}
    agent.start()

    def icon():
        place = icon_in(panel.pixels(PANEL))
        return place if place and place == icon_in(panel.pixels(PANEL)) else None
    place = wait_until(icon, 40, "the icon is in the panel", child=agent)
    yield agent, browser, panel, place
    panel.kill()
    desktop.close()


def test_the_icon_is_shown_and_its_menu_works(shown):
    agent, browser, panel, (across, down) = shown
    assert WIDTH - 40 < across < WIDTH - 8 and 8 < down < 24, "a whole icon, at the end of the panel"
    shown_before = panel.pixels(PANEL)
    # A click opens the page, and so does the first line of the menu that can be chosen.
    panel.press("mousemove", str(across), str(down))
    wait_until(lambda: panel.pixels(PANEL) != shown_before, 20, "the pointer is seen over the icon", child=panel)
    panel.press("click", "1")
    wait_until(lambda: len(browser.views(agent)) == 1, 20, "the page is opened", child=agent)

    def is_menu_open():
        # It is bright, the screen is black, and the tip is dark.
        return sum(byte > 200 for byte in panel.pixels()[WIDTH * PANEL * 3:]) > 15_000

    def choose(*keys):
        panel.press("click", "3")
        wait_until(is_menu_open, 20, "the menu is shown", child=panel)
        panel.press("key", *keys)
    choose("Down", "Return")
    wait_until(lambda: len(browser.views(agent)) == 2, 20, "the page is opened from the menu", child=agent)
    # The last line ends the agent, and its icon goes.
    wait_until(lambda: not is_menu_open(), 20, "the menu is closed", child=panel)
    choose("Up", "Return")
    wait_until(lambda: not agent.is_running, 20, "the agent has ended")
    panel.press("mousemove", "10", "500")
    wait_until(lambda: icon_in(panel.pixels(PANEL)) is None, 20, "the icon is gone", child=panel)
