// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The list of conversations. Rows have one height, so only those near the window exist (LK-4); the scroll bar is honest
// because the server says how many there are.

import { afterPatience, fill, h, icon } from "../shared/dom.js";
import { highlighted } from "./highlight.js";
import { i18n, m, t } from "./i18n.js";
import { stateCard } from "./state-card.js";

const rowHeight = 88;
const beyond = 6;

export class ListView {
  #store;
  #act;
  #rows = new Map(); // index → row element
  #skeleton = null;
  #waiting = null;
  #last = null;
  current = 0; // the row the keyboard is on

  /** `act`: open(item), flag(id, change), clearSearch(), retry(), href(id), profile(). */
  constructor(store, act) {
    this.#store = store;
    this.#act = act;
    this.ul = h("ul", { class: "rows", role: "list", "aria-label": m("list.name") });
    this.status = h("p", { class: "hidden-text", role: "status" });
    this.state = h("div", { class: "list-state", hidden: true });
    this.element = h("div", { class: "list-scroll", tabindex: "-1" }, this.status, this.ul, this.state);
    this.element.addEventListener("scroll", () => this.#window(), { passive: true });
    new ResizeObserver(() => this.#window()).observe(this.element);
    store.addEventListener("list", () => this.render());
    store.addEventListener("rows", () => this.render());
    store.addEventListener("flags", () => this.#refresh());
    i18n.onChange(() => this.#refresh());
    this.selected = null;
  }

  select(id) {
    this.selected = id;
    const index = this.#store.list.items.findIndex((item) => item.id === id);
    if (index >= 0) this.current = index;
    this.#refresh();
    if (index >= 0) this.reveal(index);
  }

  render() {
    const { list } = this.#store;
    const key = `${list.mailbox} ${list.q}`;
    if (key !== this.#last) {
      this.#last = key;
      this.current = 0;
      this.element.scrollTop = 0;
    }
    this.#waiting?.();
    this.#waiting = null;
    this.current = Math.min(this.current, Math.max(0, list.items.length - 1));
    const ready = list.status === "ready" && list.items.length > 0;
    this.element.setAttribute("aria-busy", String(list.status === "loading"));
    this.ul.hidden = !ready;
    this.#showSkeleton(false);
    if (ready) {
      this.state.hidden = true;
      this.ul.style.height = `${list.total * rowHeight}px`;
      this.#refresh();
    } else {
      this.#clearRows();
      this.#showState(list);
    }
    if (list.status === "ready" && list.q) this.status.textContent = t("search.results", { n: list.total });
    else if (list.status !== "loading") this.status.textContent = "";
  }

  #showState(list) {
    this.state.hidden = false;
    if (list.status === "loading") {
      fill(this.state);
      this.#waiting = afterPatience(() => {
        this.#showSkeleton(true);
        this.status.textContent = t("list.loading");
      });
    } else if (list.status === "error") {
      const offline = list.error.kind === "offline";
      fill(this.state, stateCard({
        picture: offline ? "offline" : "alert",
        title: m(offline ? "offline.title" : "list.error"),
        text: m(offline ? "offline.text" : "list.error.text"),
        action: { label: m("app.retry"), run: () => this.#act.retry() },
        alert: true,
      }));
    } else if (list.status === "ready" && list.q) {
      fill(this.state, stateCard({
        picture: "search", title: m("empty.search"),
        text: m("empty.search.text", () => ({ folder: t(`folder.${list.mailbox}`), query: list.q })),
        action: { label: m("empty.search.clear"), run: () => this.#act.clearSearch() },
      }));
    } else if (list.status === "ready") {
      const picture = { inbox: "check", starred: "star", drafts: "pen", sent: "send", archive: "archive", trash: "trash" }[list.mailbox];
      fill(this.state, stateCard({ picture, title: m(`empty.${list.mailbox}`), text: m(`empty.${list.mailbox}.text`) }));
    }
  }

  #showSkeleton(shown) {
    if (!shown) {
      this.#skeleton?.remove();
      this.#skeleton = null;
    } else if (!this.#skeleton) {
      this.#skeleton = h("div", { class: "skeleton", "aria-hidden": "true" }, [72, 54, 84, 60, 66, 48, 78, 58, 70, 62].map(boneRow));
      this.element.append(this.#skeleton);
    }
  }

  #clearRows() {
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
  }

  /** Draws every visible row again, keeping the focus on the row or button that had it. */
  #refresh() {
    const focused = document.activeElement;
    const row = focused?.closest?.(".row");
    const part = row && this.ul.contains(row) ? (focused.dataset.part ?? null) : null;
    this.#clearRows();
    this.#window();
    if (part) this.focus(part);
  }

  #window() {
    const { list } = this.#store;
    if (this.ul.hidden || this.element.clientHeight === 0) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - beyond);
    const last = Math.min(list.total - 1, Math.ceil((this.element.scrollTop + this.element.clientHeight) / rowHeight) + beyond);
    // The row with the focus stays, wherever it is, so that the keyboard does not fall off the list.
    const kept = (index) => (index >= first && index <= last) || (index === this.current && this.#rows.get(index)?.contains(document.activeElement));
    for (const [index, row] of this.#rows) {
      if (!kept(index)) {
        row.remove();
        this.#rows.delete(index);
      }
    }
    for (let index = first; index <= last; index += 1) if (!this.#rows.has(index)) this.#place(index);
    if (last >= list.items.length) this.#store.loadMore(last);
  }

  #place(index) {
    const { list } = this.#store;
    const item = list.items[index];
    const row = item ? this.#row(item, index) : boneRow(58, index);
    row.style.transform = `translateY(${index * rowHeight}px)`;
    this.#rows.set(index, row);
    const after = [...this.#rows.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
    this.ul.insertBefore(row, after === undefined ? null : this.#rows.get(after));
  }

  #row(item, index) {
    const { list } = this.#store;
    const selected = item.id === this.selected;
    const sender = item.senders?.at(-1) ?? {};
    const mine = this.#act.profile()?.email?.toLowerCase();
    const names = item.senders?.map((one) => (mine && one.email?.toLowerCase() === mine ? t("list.me") : one.name || one.email)).filter(Boolean) ?? [];
    const date = new Date(item.last_at);
    const action = (name, drawing, label, run, more = {}) =>
      h("button", {
        class: "icon-button", type: "button", tabindex: "-1", "aria-label": t(label), title: t(label), ...more, data: { part: name }, on: { click: run },
      }, icon(drawing));
    const row = h("li", {
      class: `row${item.unread ? " unread" : ""}${selected ? " selected" : ""}`,
      role: "listitem", "aria-setsize": list.total, "aria-posinset": index + 1, data: { id: item.id },
    },
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("nc-avatar", { name: sender.name ?? "", email: sender.email ?? "" }),
      h("a", {
        class: "row-link", href: this.#act.href(item), tabindex: index === this.current ? "0" : "-1",
        "aria-current": selected ? "true" : undefined, data: { part: "link" },
        on: {
          click: (event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            this.current = index;
            this.#act.open(item);
          },
          focus: () => this.#rove(index),
        },
      },
        item.unread && h("span", { class: "hidden-text" }, `${t("list.unread")}. `),
        h("span", { class: "row-from one-line" },
          list.mailbox === "drafts" && h("span", { class: "draft-mark" }, `${t("list.draft")} `),
          names.length === 0 ? t(list.mailbox === "drafts" ? "list.nobody" : "list.nosender") : names.map((name, at) => [at > 0 && ", ", h("bdi", null, name)]),
          item.count > 1 && h("span", { class: "count", title: t("list.count", { n: item.count }) },
            h("span", { "aria-hidden": "true" }, i18n.number(item.count)),
            h("span", { class: "hidden-text" }, `, ${t("list.count", { n: item.count })}`))),
        h("time", { class: "row-when", datetime: item.last_at }, i18n.when(date)),
        h("span", { class: "row-subject one-line", dir: "auto" }, highlighted(item.subject, list.q) || t("list.nosubject")),
        h("span", { class: "row-snippet one-line", dir: "auto" }, highlighted(item.snippet, list.q)),
      ),
      item.has_attachments && h("span", { class: "row-clip", title: t("list.attachments") }, icon("clip"), h("span", { class: "hidden-text" }, t("list.attachments"))),
      list.mailbox !== "drafts" && action("star", item.starred ? "star-full" : "star", "thread.star", () => this.#act.flag(item.id, { starred: !item.starred }), {
        class: "icon-button row-star", "aria-pressed": String(item.starred),
      }),
    );
    // What only a pointer over the row shows is made when there is one.
    const more = () => {
      row.querySelector("time").title = i18n.date(date, { dateStyle: "full", timeStyle: "short" });
      row.append(h("span", { class: "row-actions" },
        list.mailbox !== "sent" && (list.mailbox === "inbox" || list.mailbox === "starred"
          ? action("archive", "archive", "thread.archive", () => this.#act.flag(item.id, { mailbox: "archive" }))
          : action("restore", "inbox", "thread.restore", () => this.#act.flag(item.id, { mailbox: "inbox" }))),
        list.mailbox !== "trash" && action("trash", "trash", "thread.trash", () => this.#act.flag(item.id, { mailbox: "trash" }))));
    };
    if (list.mailbox !== "drafts") row.addEventListener("pointerenter", more, { once: true });
    return row;
  }

  #rove(index) {
    const before = this.#rows.get(this.current)?.querySelector("[data-part=link]");
    this.current = index;
    before?.setAttribute("tabindex", "-1");
    this.#rows.get(index)?.querySelector("[data-part=link]")?.setAttribute("tabindex", "0");
  }

  reveal(index) {
    const top = index * rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + rowHeight - clientHeight;
    this.#window();
  }

  /** Moves the keyboard to another row; `step` may be Infinity for the end. */
  move(step) {
    const { items } = this.#store.list;
    if (items.length === 0) return;
    const to = Math.max(0, Math.min(items.length - 1, this.current + step));
    this.reveal(to);
    this.#rove(to);
    this.focus();
  }

  focus(part = "link") {
    if (!this.#store.list.items.length) return this.element.focus();
    if (!this.#rows.has(this.current)) this.reveal(this.current);
    const row = this.#rows.get(this.current);
    (row?.querySelector(`[data-part=${part}]`) ?? row?.querySelector("[data-part=link]"))?.focus({ preventScroll: true });
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  get currentItem() {
    return this.#store.list.items[this.current] ?? null;
  }
}

function boneRow(width) {
  const bone = (style) => {
    const element = h("span", { class: "bone" });
    element.style.cssText = style;
    return element;
  };
  return h("li", { class: "row bones", "aria-hidden": "true" },
    h("span", { class: "dot" }),
    bone("width: 40px; height: 40px; border-radius: 999px"),
    h("span", { class: "bone-lines" }, bone(`width: ${width * 0.6}%`), bone(`width: ${width}%`), bone(`width: ${Math.min(96, width + 18)}%`)),
  );
}
