/// What a disk makes of names, permissions and times. Asked by `KnownDisks`; an ordinary disk of Linux until then.
package struct DiskTraits: Hashable, Sendable {
    /// Whether it takes `a` and `A` for one name.
    package var foldsCase = false
    /// Whether it takes `é` for one name however it is composed.
    package var normalizesNames = false
    /// Whether it takes `a.` or `a ` for `a`.
    package var dropsTrailingDots = false
    /// Whether it may list `aux` and `con.txt`, which are devices to Windows, under names that it makes up.
    package var manglesDeviceNames = false
    /// Whether it sets a file's time of modification again when a program that has written to it closes it.
    package var touchesOnClose = false
    package var keepsPermissions = true
    /// Whether it keeps times in steps, of two seconds at most.
    package var hasCoarseTimes = false
    /// Whether the disk could not be asked, and this is what does the least harm.
    package var isGuess = false

    package init(
        foldsCase: Bool = false, normalizesNames: Bool = false, dropsTrailingDots: Bool = false,
        manglesDeviceNames: Bool = false, touchesOnClose: Bool = false, keepsPermissions: Bool = true,
        hasCoarseTimes: Bool = false, isGuess: Bool = false
    ) {
        self.foldsCase = foldsCase
        self.normalizesNames = normalizesNames
        self.dropsTrailingDots = dropsTrailingDots
        self.manglesDeviceNames = manglesDeviceNames
        self.touchesOnClose = touchesOnClose
        self.keepsPermissions = keepsPermissions
        self.hasCoarseTimes = hasCoarseTimes
        self.isGuess = isGuess
    }

    /// Whether several spellings are one name.
    package var foldsNames: Bool { foldsCase || normalizesNames }

    /// Whether the disk takes both for one name. For letters that few disks agree on, the disk itself has to be asked.
    package func areOne(_ left: String, _ right: String) -> Bool {
        let (left, right) = (key(left), key(right))
        // Strings are compared by canonical equivalence.
        return normalizesNames ? left == right : left.utf8.elementsEqual(right.utf8)
    }

    /// What all names have in common that are one in case; the name itself where the disk does not fold case.
    package func key(_ name: String) -> String { foldsCase ? name.foldingCase : name }

    /// Whether the disk would keep the name as another one.
    package func changes(_ name: String) -> Bool {
        if manglesDeviceNames, Self.isDevice(name) { return true }
        guard dropsTrailingDots, let last = name.utf8.last else { return false }
        return last == UInt8(ascii: ".") || last == UInt8(ascii: " ")
    }

    /// Whether Windows takes the name, up to its first dot, for a device (Naming Files, Paths, and Namespaces).
    static func isDevice(_ name: String) -> Bool {
        let base = name.prefix { $0 != "." }.lowercased()
        if ["con", "prn", "aux", "nul"].contains(base) { return true }
        let bytes = Array(base.utf8)
        guard bytes.count == 4, base.hasPrefix("com") || base.hasPrefix("lpt") else { return false }
        return (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(bytes[3])
    }
}

extension String {
    /// Without the case of letters, as exFAT and NTFS compare names: each character by itself, never one for two.
    var foldingCase: String {
        if utf8.allSatisfy({ $0 < 0x80 && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) { return self }
        return String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    let upper = scalar.properties.uppercaseMapping.unicodeScalars
                    let large = upper.count == 1 ? upper.first ?? scalar : scalar
                    let lower = large.properties.lowercaseMapping.unicodeScalars
                    return lower.count == 1 ? lower.first ?? large : large
                }))
    }
}
