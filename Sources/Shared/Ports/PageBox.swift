// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The place of the page on the screen, as far as the app may move it.
package protocol PageBox: Sendable {
    /// Gives the page this size, in CSS pixels, less what a keyboard takes at its lower edge.
    func layout(width: Int, height: Int, keyboard: Int) async
}

/// A box that the system alone lays out.
package struct FixedPageBox: PageBox {
    package init() {}
    package func layout(width: Int, height: Int, keyboard: Int) async {}
}
