// A shared worker: no script of the app's can be put before it.
onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) =>
    fetch(data + "/status?code=200", { credentials: "include" }).then((r) => r.text()).then((t) => port.postMessage(t), (e) => port.postMessage(e.name));
};
