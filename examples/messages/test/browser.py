# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""A headless Chromium with what the pictures and checks need."""

import base64
import json
import pathlib
import time
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

SIZES = {"phone": (390, 844, 2, True), "desktop": (1280, 800, 1, False), "tablet": (768, 1024, 1, False)}


class Browser:
    def __init__(self, servers):
        self.servers = servers
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--ignore-certificate-errors",
                     "--hide-scrollbars", "--force-color-profile=srgb",
                     f"--host-resolver-rules=MAP news.example:443 127.0.0.1:{servers.remote.server_address[1]}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.set_capability("acceptInsecureCerts", True)
        options.set_capability("unhandledPromptBehavior", "ignore")
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(20)
        self.driver.set_page_load_timeout(30)

    def quit(self):
        self.driver.quit()

    def cdp(self, command, **values):
        return self.driver.execute_cdp_cmd(command, values)

    def device(self, size="desktop", theme="light", motion=False):
        width, height, scale, mobile = SIZES[size]
        self.size = size
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=mobile)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "no-preference" if motion else "reduce"}])

    def open(self, *, snapshot=None, api="normal", language="en", route="", settle=0.35, **query):
        values = {"snapshot": json.dumps(snapshot or {}), "api": self.servers.api_origin(api), "language": language, **query}
        if self.size == "phone":
            values["touch"] = "1"
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source="")
        self.driver.get(f"{self.servers.page_origin}/?{urllib.parse.urlencode(values)}{route}")
        self.driver.execute_script(
            "if (localStorage.getItem('messages.language') !== arguments[0]) {"
            " localStorage.setItem('messages.language', arguments[0]); location.reload(); }", language)
        self.wait("document.readyState === 'complete' && document.querySelector('#app > *') !== null")
        time.sleep(settle)

    def js(self, script, *values):
        return self.driver.execute_script(f"return ({script})" if not script.lstrip().startswith(("return", "const", "{")) else script, *values)

    def wait(self, condition, seconds=15, what=None):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.js(condition):
                    return True
            except Exception as error:  # the document may be on its way out
                last = error
            time.sleep(0.04)
        raise AssertionError(f"waited {seconds} s for {what or condition}")

    def become(self, **change):
        self.js("testing.become(arguments[0])", change)
        time.sleep(0.15)

    def click(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null", what=selector)
        self.driver.find_element("css selector", selector).click()
        time.sleep(0.12)

    def files(self, selector, paths):
        """Chooses files, as the system's dialog would."""
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null", what=selector)
        self.driver.find_element("css selector", selector).send_keys("\n".join(map(str, paths)))
        time.sleep(0.1)

    def type(self, text):
        ActionChains(self.driver).send_keys(text).perform()
        time.sleep(0.1)

    def key(self, *keys):
        named = {"Enter": Keys.ENTER, "Escape": Keys.ESCAPE, "Tab": Keys.TAB, "Down": Keys.ARROW_DOWN, "Up": Keys.ARROW_UP, "End": Keys.END, "Home": Keys.HOME, "Left": Keys.ARROW_LEFT, "Right": Keys.ARROW_RIGHT, "Backspace": Keys.BACKSPACE}
        for one in keys:
            chain = ActionChains(self.driver)
            if one.startswith("Shift+"):
                chain.key_down(Keys.SHIFT).send_keys(named.get(one[6:], one[6:])).key_up(Keys.SHIFT)
            else:
                chain.send_keys(named.get(one, one))
            chain.perform()
            time.sleep(0.08)

    def picture(self, path: pathlib.Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.cdp("Page.captureScreenshot", format="png")["data"]))

    def errors(self):
        """What the console says is wrong, without refused loads a scenario is about."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
