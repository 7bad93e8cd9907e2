import Glibc

/// What this process holds at the moment.
enum ProcessResources {
    static func descriptorCount() throws -> Int {
        guard let directory = opendir("/proc/self/fd") else { throw ConformanceFailure("/proc is not mounted") }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    static func residentByteCount() throws -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { throw ConformanceFailure("/proc is not mounted") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, CInt(line.count), file) != nil else { throw ConformanceFailure("statm is empty") }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw ConformanceFailure("statm says “\(text)”")
        }
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    /// Bytes that malloc has given out, without what it keeps free in between; nil if this C library cannot tell.
    ///
    /// What is resident grows by what lies between, which is given out again; this grows by what is kept.
    static func allocatedByteCount() -> Int? {
        // glibc's malloc_info(3), which its module for Swift does not have.
        typealias Inform = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
        guard let symbol = dlsym(nil, "malloc_info") else { return nil }
        var text: UnsafeMutablePointer<CChar>?
        var byteCount = 0
        guard let stream = open_memstream(&text, &byteCount) else { return nil }
        let status = unsafeBitCast(symbol, to: Inform.self)(0, stream)
        fclose(stream)
        defer { free(text) }
        guard status == 0, let text else { return nil }
        // After the heaps, each line for itself: <total type="rest" count="7" size="1234"/>
        let totals = String(cString: text).components(separatedBy: "</heap>").last ?? ""
        func size(_ element: String, _ type: String) -> Int? {
            let start = "<\(element) type=\"\(type)\""
            guard let line = totals.split(separator: "\n").first(where: { $0.hasPrefix(start) }),
                let value = line.components(separatedBy: "size=\"").dropFirst().first
            else { return nil }
            return value.split(separator: "\"").first.flatMap { Int($0) }
        }
        guard let system = size("system", "current"), let mapped = size("total", "mmap"),
            let fast = size("total", "fast"), let rest = size("total", "rest")
        else { return nil }
        return system - fast - rest + mapped
    }
}

extension String {
    /// The parts between all `separator`.
    fileprivate func components(separatedBy separator: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        return parts + [rest]
    }
}

extension Substring {
    fileprivate func components(separatedBy separator: String) -> [Substring] {
        String(self).components(separatedBy: separator)
    }
}
