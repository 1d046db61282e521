// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto

/// The one style sheet of the pages, allowed by its digest.
enum PageStyle {
    static let css = """
        :root{color-scheme:light dark;--surface:#eef1f5;--raised:#fff;--line:#c6ccd5;--text:#1b1f26;--muted:#566070;
        --accent:#1d5fd1;--on-accent:#fff;--danger:#a8201a;--danger-surface:#fdecea;--warn:#6b4700;--warn-surface:#fff1d0}
        @media (prefers-color-scheme:dark){:root{--surface:#121418;--raised:#1c2027;--line:#454d59;--text:#e7eaee;
        --muted:#a5aebb;--accent:#8db4ff;--on-accent:#0b1c3a;--danger:#ffb4ab;--danger-surface:#3b1a18;--warn:#ffd98a;
        --warn-surface:#3a2d0f}}
        *{box-sizing:border-box}
        html{height:100%;font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
        background:var(--surface);color:var(--text)}
        body{min-height:100%;margin:0;display:flex;flex-direction:column;align-items:center;justify-content:center;
        padding:24px 16px}
        main{width:100%;max-width:416px;background:var(--raised);border:1px solid var(--line);border-radius:12px;
        padding:32px;box-shadow:0 1px 2px rgb(0 0 0/.06),0 12px 32px -16px rgb(0 0 0/.18)}
        .mark{display:block;width:44px;height:44px;margin:0 0 16px}
        .mark path{fill:none;stroke:var(--accent);stroke-width:2;stroke-linecap:round}
        h1{font-size:28px;line-height:1.2;font-weight:650;letter-spacing:-.01em;margin:0}
        .lead{margin:4px 0 24px;color:var(--muted)}.lead:last-child{margin:8px 0 0}.lead strong{color:var(--text);font-weight:600}
        label{display:block;font-size:14px;font-weight:600;margin:0 0 6px}
        input[type=text],input[type=password]{display:block;width:100%;min-height:48px;padding:8px 12px;margin:0 0 16px;
        font:inherit;color:inherit;background:var(--raised);border:1px solid var(--muted);border-radius:8px}
        input[aria-invalid=true]{border-color:var(--danger)}
        .check{display:grid;grid-template-columns:auto 1fr;column-gap:12px;align-items:center;min-height:44px;
        margin:0 0 16px}
        .check label{margin:0;padding:10px 0;font-weight:400;font-size:16px}
        .check input{width:20px;height:20px;margin:0;accent-color:var(--accent)}
        .check .hint{grid-column:2;margin:0 0 4px;font-size:14px;color:var(--muted)}
        .check input:checked~.hint{display:none}
        button{display:block;width:100%;min-height:48px;padding:8px 16px;margin:0 0 8px;font:inherit;font-weight:600;
        border-radius:8px;border:1px solid transparent;cursor:pointer}
        .primary{background:var(--accent);color:var(--on-accent)}
        .plain{background:transparent;color:var(--accent);margin:0}
        .primary:hover{filter:brightness(1.08)}.plain:hover{background:var(--surface)}
        :focus-visible{outline:3px solid var(--accent);outline-offset:2px}
        .notice{margin:0 0 16px;padding:12px;border-radius:8px;font-size:14px}
        .bad{background:var(--danger-surface);color:var(--danger)}
        .env{margin:0 0 16px;padding:4px 12px;border-radius:999px;font-size:12px;font-weight:600;
        background:var(--warn-surface);color:var(--warn)}
        details{width:100%;max-width:416px;margin:16px 0 0;font-size:14px;color:var(--muted)}
        summary{cursor:pointer;padding:10px 4px}
        details ul{margin:0;padding:0 4px 8px;list-style:none}details li{padding:4px 0;overflow-wrap:anywhere}
        code{font:13px/1.4 ui-monospace,"SF Mono","DejaVu Sans Mono",monospace;color:var(--text)}
        @media (max-width:480px){body{justify-content:flex-start;padding:16px 0 24px;background:var(--raised)}
        main{border:0;border-radius:0;box-shadow:none;padding:16px 24px}details{padding:0 24px}}
        @media (prefers-reduced-motion:no-preference){button{transition:filter .12s,background-color .12s}}
        """

    /// The source expression of the style sheet for `style-src`.
    static let source = "'sha256-\(Base64.encode(SHA256.hash(css)))'"

    /// A shell: arcs in one point.
    static let mark = """
        <svg class="mark" viewBox="0 0 44 44" aria-hidden="true"><path d="M22 39C9 33 3 24 4 14 13 13 19 20 22 39Z"/>\
        <path d="M22 39c13-6 19-15 18-25-9-1-15 6-18 25Z"/><path d="M22 39C13 26 13 14 22 4c9 10 9 22 0 35Z"/></svg>
        """
}

/// The text as it stands in a page.
func escaped(_ text: some StringProtocol) -> String { HTMLText.escape(text) }
