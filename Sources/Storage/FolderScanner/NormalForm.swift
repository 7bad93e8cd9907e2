/// Whether text is in Unicode's normal form C (UAX #15), in which names are announced.
///
/// The standard library compares by it but does not tell; Foundation on Linux composes Hangul wrongly.
package enum NormalForm {
    private struct Tables: Sendable {
        var composite: [UInt64: UInt32] = [:]
        var parts: [UInt32: (first: UInt32, second: UInt32)] = [:]
        /// What a character before it may be composed with.
        var seconds: Set<UInt32> = []
        var replaced: [ClosedRange<UInt32>] = []

        init() {
            for entry in CompositionTable.pairs.split(whereSeparator: \.isWhitespace) {
                let numbers = entry.split { $0 == "+" || $0 == "=" }.compactMap { UInt32($0, radix: 16) }
                guard numbers.count == 3 else { continue }
                composite[NormalForm.key(numbers[0], numbers[1])] = numbers[2]
                parts[numbers[2]] = (numbers[0], numbers[1])
                seconds.insert(numbers[1])
            }
            for range in CompositionTable.replaced.split(whereSeparator: \.isWhitespace) {
                let bounds = range.split(separator: "-").compactMap { UInt32($0, radix: 16) }
                guard bounds.count == 2, bounds[0] <= bounds[1] else { continue }
                replaced.append(bounds[0]...bounds[1])
            }
        }

        /// Whether NFC replaces this character wherever it is.
        func replaces(_ scalar: UInt32) -> Bool {
            var (low, high) = (0, replaced.count)
            while low < high {
                let middle = (low + high) / 2
                if replaced[middle].upperBound < scalar { low = middle + 1 } else { high = middle }
            }
            return low < replaced.count && replaced[low].contains(scalar)
        }
    }

    private static let tables = Tables()

    private static func key(_ first: UInt32, _ second: UInt32) -> UInt64 { UInt64(first) << 32 | UInt64(second) }

    /// The characters up to here are left alone and compose with nothing before them.
    private static let firstInteresting: UInt32 = 0x300

    /// Whether a name may be announced as it is.
    package static func isComposed(_ text: String) -> Bool {
        var lastClass: UInt8 = 0
        var mayCompose = false
        for scalar in text.unicodeScalars {
            guard scalar.value >= firstInteresting else {
                lastClass = 0
                continue
            }
            let own = combiningClass(scalar)
            // Out of canonical order.
            if own != 0, own < lastClass { return false }
            lastClass = own
            if tables.replaces(scalar.value) { return false }
            if tables.seconds.contains(scalar.value) || Hangul.isVowel(scalar.value) || Hangul.isTrailing(scalar.value)
            {
                mayCompose = true
            }
        }
        guard mayCompose else { return true }
        let scalars = text.unicodeScalars.map(\.value)
        return composed(scalars) == scalars
    }

    private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
        scalar.properties.canonicalCombiningClass.rawValue
    }

    /// The text composed again from its parts; it has nothing in it that NFC replaces wherever it is.
    private static func composed(_ text: [UInt32]) -> [UInt32] {
        var parts: [(scalar: UInt32, order: UInt8)] = []
        for scalar in text { decompose(scalar, into: &parts) }
        sortMarks(&parts)
        var result: [UInt32] = []
        var starter: Int?
        var lastClass: UInt8 = 0
        for (scalar, order) in parts {
            // Between a starter and what it composes with there may only be marks of lower classes.
            if let starter, starter == result.count - 1 || lastClass < order,
                let composite = composite(result[starter], scalar)
            {
                result[starter] = composite
                continue
            }
            if order == 0 { starter = result.count }
            lastClass = order
            result.append(scalar)
        }
        return result
    }

    private static func decompose(_ scalar: UInt32, into parts: inout [(scalar: UInt32, order: UInt8)]) {
        if let syllable = Hangul.parts(of: scalar) {
            parts += syllable.map { ($0, 0) }
        } else if let (first, second) = tables.parts[scalar] {
            decompose(first, into: &parts)
            decompose(second, into: &parts)
        } else {
            parts.append((scalar, Unicode.Scalar(scalar).map(combiningClass) ?? 0))
        }
    }

    /// Puts runs of marks into the order of their classes; those of one class stay as they are.
    private static func sortMarks(_ parts: inout [(scalar: UInt32, order: UInt8)]) {
        var start = 0
        while start < parts.count {
            guard parts[start].order != 0 else {
                start += 1
                continue
            }
            let end = parts[start...].firstIndex { $0.order == 0 } ?? parts.count
            let run = parts[start..<end].enumerated().sorted {
                ($0.element.order, $0.offset) < ($1.element.order, $1.offset)
            }
            parts.replaceSubrange(start..<end, with: run.map(\.element))
            start = end
        }
    }

    private static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
        Hangul.composite(first, second) ?? tables.composite[key(first, second)]
    }

    /// Unicode, section 3.12: syllables are numbered by their leading consonant, vowel and trailing consonant.
    private enum Hangul {
        static let syllables: ClosedRange<UInt32> = 0xAC00...0xD7A3
        static let leading: ClosedRange<UInt32> = 0x1100...0x1112
        static let vowels: ClosedRange<UInt32> = 0x1161...0x1175
        /// Of the trailing consonants; the one before stands for none.
        static let trailing: ClosedRange<UInt32> = 0x11A8...0x11C2
        static let trailingCount: UInt32 = 28

        static func isVowel(_ scalar: UInt32) -> Bool { vowels.contains(scalar) }

        static func isTrailing(_ scalar: UInt32) -> Bool { trailing.contains(scalar) }

        static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
            if leading.contains(first), vowels.contains(second) {
                let number = (first - leading.lowerBound) * UInt32(vowels.count) + second - vowels.lowerBound
                return syllables.lowerBound + number * trailingCount
            }
            guard syllables.contains(first), trailing.contains(second),
                (first - syllables.lowerBound) % trailingCount == 0
            else { return nil }
            return first + second - trailing.lowerBound + 1
        }

        static func parts(of scalar: UInt32) -> [UInt32]? {
            guard syllables.contains(scalar) else { return nil }
            let number = scalar - syllables.lowerBound
            let vowelCount = UInt32(vowels.count)
            let pair = [
                leading.lowerBound + number / trailingCount / vowelCount,
                vowels.lowerBound + number / trailingCount % vowelCount,
            ]
            let last = number % trailingCount
            return last == 0 ? pair : pair + [trailing.lowerBound + last - 1]
        }
    }
}
