extension BidirectionalCollection {
    /// What is left without the elements at both ends that are `unwanted`; those between others stay.
    ///
    /// Complexity: linear in the elements that go.
    package func trimming(while unwanted: (Element) -> Bool) -> SubSequence {
        var rest = self[...]
        while let first = rest.first, unwanted(first) { rest.removeFirst() }
        while let last = rest.last, unwanted(last) { rest.removeLast() }
        return rest
    }
}

extension StringProtocol {
    /// The text without white space, of any script, at its ends.
    package var trimmed: String { String(trimming { $0.isWhitespace }) }
    /// The text without spaces and tabs at its ends.
    package var withoutOuterBlanks: String { String(trimming { $0 == " " || $0 == "\t" }) }
}
