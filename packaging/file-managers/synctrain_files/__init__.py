"""How files of synctrain look in Nautilus, Nemo, Caja and Dolphin, and what can be done with them there.

`states`, `places`, `http` and `lines` decide, and know nothing of GLib; `agent` asks the agent without ever waiting; `view` remembers
what is shown; `session` does what a menu item says; `provider` is what a file manager loads, `helper` the program beside one that loads no
Python.
"""
