# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Drives the page of a running shell through WebKit's remote inspector (a normal, persistent view; no automation).

Start the shell with developer extras and WEBKIT_INSPECTOR_HTTP_SERVER=127.0.0.1:PORT, then `Inspector(PORT)`.
Needs the Python package websocket-client.
"""
import json, re, time, urllib.request

import websocket


class Inspector:
    """One connection to the page; later documents and a replaced web process are followed."""

    def __init__(self, port, timeout=20):
        self.port, self.timeout = port, timeout
        self.number, self.target, self.contexts = 0, None, {}
        self.socket = None
        self.connect()

    @staticmethod
    def targets(port):
        """Paths of the inspectable pages, with their addresses: [("/socket/1/1/WebPage", "https://localhost/")]."""
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read().decode()
        addresses = re.findall(r'<div class="targeturl">(.*?)</div>', text)
        return list(zip(re.findall(r"window\.location\.host \+ '(/socket/[^']+)'", text), addresses))

    def connect(self):
        """Whoever comes while the page is being replaced is never answered, and while that one waits nobody else is served: it
        leaves, closing the door, and comes again."""
        deadline = time.time() + self.timeout
        while True:
            try:
                return self._visit(self.targets(self.port)[0][0])
            except (OSError, IndexError, websocket.WebSocketException):
                if self.socket:
                    self.socket.close()
                if time.time() > deadline:
                    raise
                time.sleep(0.1)

    def _visit(self, path):
        self.socket = websocket.create_connection(
            f"ws://127.0.0.1:{self.port}{path}", timeout=min(5, self.timeout), suppress_origin=True)
        self.target = None
        while self.target is None:
            self._take()
        self.call("Runtime.enable")
        self.socket.settimeout(self.timeout)

    def close(self):
        self.socket.close()

    def _take(self):
        """Reads one message; returns (id, message) of an inner answer, else None."""
        message = json.loads(self.socket.recv())
        method, params = message.get("method"), message.get("params", {})
        if method == "Target.targetCreated" and params["targetInfo"]["type"] == "page":
            if not params["targetInfo"].get("isProvisional"):
                self.target = params["targetInfo"]["targetId"]
        elif method == "Target.didCommitProvisionalTarget":
            self.target = params["newTargetId"]
        elif method == "Target.dispatchMessageFromTarget":
            inner = json.loads(params["message"])
            if inner.get("method") == "Runtime.executionContextCreated":
                context = inner["params"]["context"]
                self.contexts[context["id"]] = context
            return inner.get("id"), inner
        return None

    def call(self, method, **params):
        """Sends a command of the page's own protocol (Runtime, Page, Network, DOM, Input is absent) and waits."""
        self.number += 1
        number = self.number
        inner = json.dumps({"id": number, "method": method, "params": params})
        self.socket.send(json.dumps({
            "id": number + 1_000_000, "method": "Target.sendMessageToTarget",
            "params": {"targetId": self.target, "message": inner}}))
        while True:
            answer = self._take()
            if answer and answer[0] == number:
                if "error" in answer[1]:
                    raise RuntimeError(f"{method}: {answer[1]['error']['message']}")
                return answer[1]["result"]

    def evaluate(self, expression, gesture=False, context=None):
        """The value of an expression in the page's world, as JSON; a promise is awaited. An exception is raised here.

        `gesture` makes the page believe that a person acted (window.open, popups, links)."""
        params = {"expression": expression, "returnByValue": False, "emulateUserGesture": gesture}
        if context is not None:
            params["contextId"] = context
        answer = self.call("Runtime.evaluate", **params)
        result = answer["result"]
        if answer.get("wasThrown"):
            raise RuntimeError(result.get("description", str(result)))
        if result.get("className") == "Promise" or result.get("subtype") == "promise":
            answer = self.call("Runtime.awaitPromise", promiseObjectId=result["objectId"], returnByValue=True)
            if answer.get("wasThrown"):
                raise RuntimeError(answer["result"].get("description", str(answer["result"])))
            return answer["result"].get("value")
        if "objectId" in result:
            answer = self.call(
                "Runtime.callFunctionOn", objectId=result["objectId"],
                functionDeclaration="function() { return this }", returnByValue=True)
            return answer["result"].get("value")
        return result.get("value")

    def wait(self, expression, timeout=10):
        """Evaluates until the value is truthy and returns it."""
        deadline = time.time() + timeout
        while True:
            try:
                value = self.evaluate(expression)
            except (RuntimeError, websocket.WebSocketException):
                value = None
            if value:
                return value
            if time.time() > deadline:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.05)

    def click(self, selector, gesture=True):
        """Clicks an element by script; with `gesture` it counts as a person's."""
        self.wait(f"!!document.querySelector({json.dumps(selector)})")
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).click()", gesture=gesture)

    def snapshot(self, path, width, height):
        """A PNG of the page's viewport."""
        import base64
        answer = self.call("Page.snapshotRect", x=0, y=0, width=width, height=height, coordinateSystem="Viewport")
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["dataURL"].split(",", 1)[1]))
