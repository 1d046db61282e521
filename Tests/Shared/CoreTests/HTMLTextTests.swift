// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import Testing

@Suite("Text in HTML")
struct HTMLTextTests {
    @Test(
        "Characters with a meaning are replaced, whatever follows them",
        arguments: [
            ("plain é 漢", "plain é 漢"), ("<a href=\"x\">", "&lt;a href=&quot;x&quot;&gt;"),
            ("it's & that", "it&#39;s &amp; that"),
            ("<\u{301}script>", "&lt;\u{301}script&gt;"), ("\"\u{20D0} onload=", "&quot;\u{20D0} onload="),
            ("&amp;", "&amp;amp;"),
        ])
    func escape(_ text: String, _ expected: String) {
        #expect(Array(HTMLText.escape(text).unicodeScalars) == Array(expected.unicodeScalars))
    }
}
