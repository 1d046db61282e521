# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""The fixture API's part for writing, files, remote images and archives, as the backend has it."""

import re
import time
import urllib.parse
import uuid

import fixtures

LIMIT = 25_000_000


def blob(request, route, mail, answer, scenario):
    """Attachments, with ranges as players and the text preview ask for them."""
    key = route.split("/")[1]
    if route.endswith("/message/"):
        return answer(200, {
            "subject": "Questions", "from": {"name": "Neighbours", "email": "neighbours@tanneries.example"}, "to": [{"name": "", "email": "mairie@ville.example"}], "cc": [],
            "sent_at": fixtures.at(60), "text": "How steep is the ramp?\n\nAnd will there be light at night?", "html": None,
            "attachments": [{"name": "photo.jpg", "type": "image/jpeg", "size": 1200, "inline": False}]})
    if scenario == "blob-offline":
        request.close_connection = True
        request.connection.close()
        return None
    if scenario == "blob-error":
        return answer(500, {"code": "internal", "message": "Disk."})
    kind, data = mail.uploads.get(key) or fixtures.BLOBS.get(key, (None, b""))
    if not kind:
        return answer(404, {"code": "not_found", "message": "No such part."})
    field = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range") or "")
    if not field:
        return answer(200, data, kind, [("Accept-Ranges", "bytes")])
    first = int(field[1])
    last = min(int(field[2] or len(data) - 1), len(data) - 1)
    if first > last:
        return answer(416, b"", kind, [("Content-Range", f"bytes */{len(data)}")])
    return answer(206, data[first : last + 1], kind, [("Content-Range", f"bytes {first}-{last}/{len(data)}"), ("Accept-Ranges", "bytes")])


def gone(answer):
    answer(404, {"code": "not_found", "message": "It is gone."})
    return True


def failing(request, answer, scenario, name):
    """`name`-offline and `name`-error: what the scenario does to this request."""
    if scenario == f"{name}-offline":
        request.close_connection = True
        request.connection.close()
        return True
    if scenario == f"{name}-error":
        answer(500, {"code": "internal", "message": "Database is locked."})
        return True
    return False


def serve(servers, request, route, query, sent, raw, mail, answer, scenario):
    """Answers and is true, or is false for what the rest of the fixture answers."""
    parts = route.split("/")
    if route == "threads/" and query.get("mailbox") == "drafts":
        answer(200, mail.draft_rows(query.get("q", "")))
    elif route == "contacts/":
        words = query.get("q", "").lower().split()
        known = {one["email"]: one for thread in mail.threads for message in thread["messages"] for one in [message["from"]]}
        answer(200, {"results": [one for one in known.values() if all(word in f"{one['name']} {one['email']}".lower() for word in words)][:8]})
    elif parts[0] == "drafts":
        return drafts(servers, request, parts, sent, raw, mail, answer, scenario)
    elif parts[0] == "messages" and parts[2] == "remote-images":
        if scenario != "refuse":
            mail.allowed.add(parts[1])
        answer(200 if scenario != "refuse" else 409, {"remote_images": True})
    elif parts[0] == "messages" and parts[2] == "source":
        answer(200, b"Subject: fixture\r\n\r\n", "message/rfc822", [("Content-Disposition", "attachment; filename=fixture.eml")])
    elif parts[0] == "remote-image":
        with servers.lock:
            servers.proxied.append(f"{parts[1]} {query.get('url')}")
        if parts[1] not in mail.allowed:
            answer(403, {"code": "remote_not_allowed", "message": "Not asked for."})
        else:
            answer(200, fixtures.BLOBS["park"][1], "image/png")
    elif route == "imports/":
        return imports(servers, request, raw, answer, scenario)
    else:
        return False
    return True


def drafts(servers, request, parts, sent, raw, mail, answer, scenario):
    key = parts[1]
    draft = mail.drafts.get(key)
    if len(parts) == 3 and request.command == "PUT":
        if failing(request, answer, scenario, "draft"):
            return True
        if scenario == "draft-elsewhere" and draft:
            return gone(answer)
        draft = mail.drafts.setdefault(key, {"id": key, "attachments": []})
        draft.update({name: sent[name] for name in ("to", "cc", "bcc", "subject", "text", "in_reply_to")}, updated_at=fixtures.at(0))
        if sent.get("forward_of") and not draft["attachments"]:
            source = next((one for thread in mail.threads for one in thread["messages"] if one["id"] == sent["forward_of"]), {"attachments": []})
            draft["attachments"] = [{name: part[name] for name in ("id", "name", "type", "size")} for part in source["attachments"] if not part["inline"]]
        answer(200, dict(draft, limits={"bytes": LIMIT, "files": 20}))
    elif draft is None:
        return gone(answer)
    elif len(parts) == 3 and request.command == "GET":
        if not failing(request, answer, scenario, "open"):
            answer(200, dict(draft, limits={"bytes": LIMIT, "files": 20}))
    elif len(parts) == 3 and request.command == "DELETE":
        del mail.drafts[key]
        answer(200, {"discarded": True})
    elif parts[2] == "attachments" and request.command == "POST":
        if failing(request, answer, scenario, "upload"):
            return True
        name = urllib.parse.unquote(request.headers.get("X-File-Name", ""))
        identifier = uuid.uuid4().hex
        mail.uploads[identifier] = (request.headers.get("Content-Type"), raw)
        part = {"id": identifier, "name": name, "type": request.headers.get("Content-Type"), "size": len(raw), "position": int(request.headers["X-File-Position"])}
        draft["attachments"] = sorted([*draft["attachments"], part], key=lambda one: one.get("position", 0))
        answer(201, part)
    elif parts[2] == "attachments" and request.command == "DELETE":
        draft["attachments"] = [part for part in draft["attachments"] if part["id"] != parts[3]]
        answer(200, {"removed": True})
    elif parts[2] == "send":
        if failing(request, answer, scenario, "send"):
            return True
        message = fixtures.message(uuid.uuid4().hex[:8], fixtures.ME, 0, draft["text"], to=draft["to"], cc=draft["cc"])
        message["attachments"] = [dict(part, inline=False, cid=None) for part in draft["attachments"]]
        answered = next((thread for thread in mail.threads if any(one["id"] == draft["in_reply_to"] for one in thread["messages"])), None)
        if answered is None:
            answered = {"id": f"sent-{key[:8]}", "mailbox": "sent", "subject": draft["subject"], "unread": False, "starred": False, "messages": []}
            mail.threads.insert(0, answered)
        answered["messages"] = [*answered["messages"], message]
        del mail.drafts[key]
        elsewhere = [one["email"] for one in draft["to"] if not one["email"].endswith("@ville.example")]
        answer(200, {"thread": answered["id"], "undelivered": elsewhere, "again": False})
    else:
        return False
    return True


def imports(servers, request, raw, answer, scenario):
    if failing(request, answer, scenario, "import"):
        return True
    if scenario == "import-slow":
        time.sleep(0.4)
    if not re.search(rb"^(?:from|date|subject|message-id):", raw.split(b"\n\n")[0], re.I | re.M):
        answer(400, {"code": "no_message", "message": "This is no e-mail message."})
        return True
    with servers.lock:
        known = raw in servers.imported
        if not known:
            servers.imported.append(raw)
    answer(201, {"status": "duplicate" if known else "imported", "thread": "park"})
    return True
