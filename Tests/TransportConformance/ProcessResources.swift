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
}
