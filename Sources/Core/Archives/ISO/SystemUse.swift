/// What Rock Ridge adds to a record (IEEE P1282), put together from its fields.
struct SystemUse: Sendable {
    /// Bytes of a name or a link that are put together.
    private static let textLimit = ArchiveLimits.path

    var name: [UInt8] = []
    /// Of a symbolic link.
    var target: [UInt8]?
    var mode: Int64?
    var modified: Int64?
    /// Where a directory that was too deep has its records.
    var child: Int64?
    /// It is shown elsewhere.
    var isMoved = false
    /// Where the fields go on.
    var continuation: (block: Int64, offset: Int64, count: Int64)?

    private var nameContinues = false
    private var targetContinues = false
    private var componentContinues = false

    /// How many bytes each record has before its fields, if the fields of the root's own record say that there are any.
    static func skip(_ fields: [UInt8]) -> Int? {
        guard let field = fields.field(0, 7), field.elementsEqual([0x53, 0x50, 7, 1, 0xBE, 0xEF, field[6]]) else {
            return nil
        }
        return Int(field[6])
    }

    /// Adds the fields in `bytes`.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        continuation = nil
        var position = 0
        while let head = bytes.field(position, 4) {
            let start = head.startIndex
            let length = Int(head[start + 2])
            guard length >= 4, let field = bytes.field(position, length) else { return }
            position += length
            switch (head[start], head[start + 1]) {
            case (0x4E, 0x4D): addName(field)  // NM
            case (0x53, 0x4C): addTarget(field)  // SL
            case (0x50, 0x58): mode = field.little32(4)  // PX
            case (0x54, 0x46): addTimes(field)  // TF
            case (0x43, 0x4C): child = field.little32(4)  // CL
            case (0x52, 0x45): isMoved = true  // RE
            case (0x43, 0x45):  // CE
                guard let block = field.little32(4), let offset = field.little32(12), let count = field.little32(20)
                else { return }
                continuation = (block, offset, count)
            case (0x53, 0x54): return  // ST
            default: break
            }
        }
    }

    private mutating func addName(_ field: ArraySlice<UInt8>) {
        guard let flags = field.field(4, 1)?.first, flags & 6 == 0 else { return }
        if !nameContinues { name = [] }
        name += field.dropFirst(5)
        name = Array(name.prefix(Self.textLimit))
        nameContinues = flags & 1 != 0
    }

    private mutating func addTarget(_ field: ArraySlice<UInt8>) {
        guard let flags = field.field(4, 1)?.first else { return }
        var text = targetContinues || componentContinues ? target ?? [] : []
        var position = 5
        while let head = field.field(position, 2), let kind = head.first, let length = head.last,
            let component = field.field(position + 2, Int(length))
        {
            position += 2 + Int(length)
            if !text.isEmpty, text.last != 0x2F, !componentContinues { text.append(0x2F) }
            switch kind & 0x0E {
            case 2: text.append(0x2E)
            case 4: text += [0x2E, 0x2E]
            case 8: text = [0x2F]
            default: text += component
            }
            componentContinues = kind & 1 != 0
        }
        target = Array(text.prefix(Self.textLimit))
        targetContinues = flags & 1 != 0
    }

    private mutating func addTimes(_ field: ArraySlice<UInt8>) {
        guard let flags = field.field(4, 1)?.first, flags & 2 != 0 else { return }
        let length = flags & 0x80 != 0 ? 17 : 7
        guard let time = field.field(5 + (flags & 1 != 0 ? length : 0), length) else { return }
        modified = length == 7 ? ImageRecord.time(time) : ImageRecord.longTime(time)
    }
}
