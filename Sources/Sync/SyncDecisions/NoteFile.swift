import Arithmetic
import BlockExchange
import ControlAPI
import Names

/// The notes that one device has written in a folder: a line of JSON each, in `.synctrain/notes/` under the device's short
/// id. No device writes the file of another, so that no conflict can come of it.
///
/// Pure; what is read from a file is somebody else's and within bounds.
package struct NoteFile: Equatable, Sendable {
    package struct Line: Codable, Equatable, Sendable {
        package var path: String
        package var key: String
        /// Nil: the key was removed.
        package var value: String?
        /// Milliseconds since 1970.
        package var time: Int64

        package init(path: String, key: String, value: String? = nil, time: Int64) {
            self.path = path
            self.key = key
            self.value = value
            self.time = time
        }
    }

    package static let directory = ".synctrain"
    package static let fileDirectory = ".synctrain/notes"
    package static let byteLimit = 1 << 20
    /// Files that are read in one folder.
    package static let fileLimit = 256
    package static let lineLimit = 10_000
    package static let keyByteLimit = 64
    package static let valueByteLimit = 4096
    /// Keys of one path.
    package static let keyLimit = 32

    /// At most one for each path and key, by path and key.
    package private(set) var lines: [Line] = []

    package init() {}

    /// Reads a file's text. Lines that are none are left out, and the later of two for the same path and key stays.
    package init(_ bytes: [UInt8]) {
        var last: [NameKey: Line] = [:]
        for text in bytes.split(separator: UInt8(ascii: "\n")).prefix(Self.lineLimit) {
            guard text.count <= 2 * Self.valueByteLimit + 8192,
                let line = try? ControlJSON.decode(Line.self, from: Array(text)), Self.isKey(line.key), line.time >= 0,
                line.value.map(Self.isValue) ?? true
            else { continue }
            let name = Self.name(line.path, line.key)
            if let old = last[name], old.time > line.time { continue }
            last[name] = line
        }
        lines = last.values.sorted(by: Self.precedes)
    }

    /// Puts the line in the place of the one for the same path and key. False if there is no room for it.
    package mutating func set(_ line: Line) -> Bool {
        let (path, key) = (NameKey(line.path), NameKey(line.key))
        lines.removeAll { NameKey($0.path) == path && NameKey($0.key) == key }
        guard lines.count < Self.lineLimit else { return false }
        lines.append(line)
        lines.sort(by: Self.precedes)
        return true
    }

    /// Throws what JSON says.
    package func bytes() throws -> [UInt8] {
        var bytes: [UInt8] = []
        for line in lines { bytes += try ControlJSON.encode(line) + [UInt8(ascii: "\n")] }
        return bytes
    }

    /// Whether somebody else than its device has changed a file last: what it says is not that device's word.
    ///
    /// - Parameters:
    ///   - device: the short id that the file is called by.
    ///   - changer: the device that changed it last according to the index; nil if the index does not know the file yet.
    ///   - own: this device, which may have written its own file just now.
    package static func isForeign(to device: String, changedBy changer: ShortID?, own: String) -> Bool {
        device != own && changer?.description != device
    }

    private static func precedes(_ left: Line, _ right: Line) -> Bool {
        left.path.utf8.elementsEqual(right.path.utf8)
            ? left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
            : left.path.utf8.lexicographicallyPrecedes(right.path.utf8)
    }

    /// Two paths that only look alike are two files.
    private static func name(_ path: String, _ key: String) -> NameKey { NameKey(path + "\u{0}" + key) }

    /// Letters, digits, `.`, `_` and `-`.
    package static func isKey(_ text: String) -> Bool {
        (1...keyByteLimit).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil || "._-".unicodeScalars.contains($0)
            }
    }

    /// Anything without control characters.
    package static func isValue(_ text: String) -> Bool {
        text.utf8.count <= valueByteLimit
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

/// What several devices have noted, put together: of each path and key what was written last, by time and then by device.
package struct MergedNotes: Equatable, Sendable {
    package struct Note: Equatable, Sendable {
        package var value: String?
        package var time: Int64
        /// The device's short id.
        package var device: String

        package init(value: String? = nil, time: Int64, device: String) {
            self.value = value
            self.time = time
            self.device = device
        }
    }

    package private(set) var byPath: [NameKey: [String: Note]] = [:]

    /// How far ahead of this device's clock a line's time may be, in milliseconds: a day.
    package static let greatestLead: Int64 = 86_400_000
    /// A clock that stands before 2020 was never set: by it everything would be in the future.
    private static let earliestClock: Int64 = 1_577_836_800_000

    /// - Parameter now: milliseconds since 1970. What is later by more than `greatestLead` does not count yet: no change could
    ///   be later than a line at the end of time.
    package init(_ files: [(device: String, file: NoteFile)], now: Int64) {
        let latest = now < Self.earliestClock ? .max : now.addingClamped(Self.greatestLead)
        for (device, file) in files {
            for line in file.lines where line.time <= latest {
                let note = Note(value: line.value, time: line.time, device: device)
                if let old = byPath[line.path]?[line.key], (old.time, old.device) > (note.time, note.device) {
                    continue
                }
                byPath[line.path, default: [:]][line.key] = note
            }
        }
    }

    /// Those that were not removed.
    package func notes(of path: String) -> [String: Note] { (byPath[path] ?? [:]).filter { $0.value.value != nil } }

    /// The time of a change that is made now: later than what it replaces, whatever the clocks of others said.
    package func time(ofChange path: String, _ key: String, now: Int64) -> Int64 {
        guard let old = byPath[path]?[key]?.time else { return now }
        return max(now, old == .max ? .max : old + 1)
    }
}
