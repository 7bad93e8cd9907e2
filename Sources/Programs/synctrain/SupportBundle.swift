import Archives
import BlockExchange
import ControlAPI
import Diagnosis
import Foundation
import Glibc
import Names
import Synchronization

/// A file for support: what `doctor`, `status` and the log say, without names, addresses and keys.
struct SupportBundle {
    /// What goes in, before anything is replaced.
    struct Contents {
        var report: DoctorReport
        var status: AgentStatus?
        var reach: ReachReport?
        /// Where no agent tells the status.
        var configured: CommandEnvironment.Configured?
        var configuration: String?
        /// Lines of JSON or text.
        var log: [String] = []
        /// Of the user, the machine and its directories.
        var own: [String] = []
        var versions: String
    }

    static let logLimit = 500

    /// The files of the archive, with everything replaced that could tell who somebody is.
    static func members(_ contents: Contents) throws(ControlError) -> [Tarball.Member] {
        var redaction = JSONRedaction()
        learn(contents, &redaction.redactor)
        var members = [Tarball.Member(name: "README.txt", bytes: Array(explanation.utf8))]
        func add(_ name: String, _ text: String) { members.append(.init(name: name, bytes: Array(text.utf8))) }
        add("versions.txt", contents.versions)
        add("doctor.json", try redaction.document(try ControlJSON.encode(contents.report)))
        if let status = contents.status { add("status.json", try redaction.document(try ControlJSON.encode(status))) }
        if let reach = contents.reach { add("reach.json", try redaction.document(try ControlJSON.encode(reach))) }
        if let text = contents.configuration { add("config.toml", redaction.redactor.configuration(text)) }
        if !contents.log.isEmpty {
            add("agent.log", contents.log.map { redaction.line($0) }.joined(separator: "\n") + "\n")
        }
        return members
    }

    private static let explanation = """
        A support file of synctrain. Names, paths, device ids, addresses and secrets are replaced: folder-1, device-2, name-3. The same
        pseudonym stands for the same thing in all files of this archive, and for something else in any other archive.

        """

    private static func learn(_ contents: Contents, _ redactor: inout Redactor) {
        if let status = contents.status {
            redactor.learn([status.device, status.name], .device)
            for device in status.devices { redactor.learn([device.id, device.name], .device) }
            for folder in status.folders { redactor.learn([folder.id, folder.path, folder.label], .folder) }
        }
        if let configured = contents.configured {
            for device in configured.devices { redactor.learn([device.id, device.name ?? ""], .device) }
            for folder in configured.folders { redactor.learn([folder.id, folder.path, folder.label ?? ""], .folder) }
        }
        for text in contents.own { redactor.learn([text], .name) }
    }
}

/// Replaces the texts of JSON documents; numbers, booleans and the names of fields stay.
struct JSONRedaction {
    var redactor = Redactor()

    /// Fields whose text is a name as a whole, also if its words are harmless.
    private static let names: Set = ["path", "name", "label", "directory", "subject"]

    /// What English texts were made of: they stand beside it.
    private static let phrases: Set = [
        "text", "whyText", "remedyText", "detailTexts", "problemText", "lastErrorText", "hintTexts", "adviceText",
        "problemTexts", "httpRemarkText", "remarkText", "waitingText", "pauseText",
    ]

    /// The document, for people to read.
    mutating func document(_ bytes: [UInt8]) throws(ControlError) -> String {
        guard let value = try? JSONSerialization.jsonObject(with: Data(bytes)),
            let text = text(of: redacted(value, field: nil), options: [.prettyPrinted, .sortedKeys])
        else { throw ControlError(.failed, "An answer of the agent is not JSON. This is a bug; report it.") }
        return text + "\n"
    }

    /// A line of the log, as JSON or as text.
    mutating func line(_ line: String) -> String {
        guard line.hasPrefix("{"), let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)),
            let text = text(of: redacted(value, field: nil), options: [.sortedKeys])
        else { return redactor.text(line) }
        return text
    }

    private func text(of value: Any, options: JSONSerialization.WritingOptions) -> String? {
        (try? JSONSerialization.data(withJSONObject: value, options: options.union(.withoutEscapingSlashes)))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private mutating func redacted(_ value: Any, field: String?) -> Any {
        switch value {
        case let text as String:
            return field.map { Self.names.contains($0) } ?? false ? redactor.name(text) : redactor.text(text)
        case let list as [Any]: return list.map { redacted($0, field: field) }
        case let fields as [String: Any]:
            var result: [String: Any] = [:]
            for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
                if Self.phrases.contains(key), !(value is String) { continue }
                // Fields of our own are letters; what is listed by id is not.
                let isField = key.utf8.allSatisfy {
                    ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z")
                }
                result[isField ? key : redactor.text(key)] = redacted(value, field: key)
            }
            return result
        default: return value
        }
    }
}

/// Gathers the contents and writes the file.
struct SupportBundleWriter {
    let context: CommandContext

    func write(to path: String) async throws -> [Tarball.Member] {
        let members = try SupportBundle.members(try await contents())
        let bytes: [UInt8]
        do {
            bytes = try Tarball.packed(members, time: Int64(Date().timeIntervalSince1970))
        } catch {
            throw ControlError(.failed, error.message)
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            guard errno != EEXIST else {
                throw ControlError(.alreadyExists, "\(path) already exists. Choose another name.", path: path)
            }
            throw ControlError(
                .failed, "\(path) cannot be created: \(String(cString: strerror(errno))). Choose another directory.",
                path: path)
        }
        do {
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try file.write(contentsOf: Data(bytes))
            try file.close()
        } catch {
            unlink(path)
            throw ControlError(.failed, "\(path) cannot be written: \(error.localizedDescription)", path: path)
        }
        return members
    }

    /// How long an agent is waited for that may be stuck.
    private static let patience: Duration = .seconds(20)

    private func contents() async throws -> SupportBundle.Contents {
        let places = try context.places()
        var contents = SupportBundle.Contents(
            report: try await Examination(context: context).report(), versions: Self.versions)
        contents.configuration = FileManager.default.contents(atPath: places.configurationFile)
            .map { String(decoding: $0.prefix(1 << 20), as: UTF8.self) }
        contents.own = own(places)
        do {
            let agent = try context.agent()
            (contents.status, contents.reach, contents.log) = try await AgentProcess.limited(
                until: .now + Self.patience, AgentProcess.silent(places)
            ) {
                let lines = Lines()
                let (status, reach) = (try await agent.call(Endpoints.status), try await agent.call(Endpoints.reach))
                try await agent.call(Endpoints.records, RecordQuery(limit: SupportBundle.logLimit)) { record in
                    lines.append(String(decoding: try ControlJSON.encode(record), as: UTF8.self))
                }
                return (status, reach, lines.all)
            }
        } catch is ControlError {
            // Without an agent that answers there is what its files say; `doctor.json` says why it does not.
            contents.configured = try? context.environment.configured(places)
            let lines = Self.end(of: LogFile.putAside(places.logFile)) + Self.end(of: places.logFile)
            contents.log = Array(lines.suffix(SupportBundle.logLimit))
        }
        return contents
    }

    private func own(_ places: CommandEnvironment.Places) -> [String] {
        var host = [CChar](repeating: 0, count: 256)
        gethostname(&host, host.count - 1)
        let directory = places.configurationFile.pathComponents.dropLast().joined(separator: "/")
        return [
            context.process.variables["HOME"], context.process.variables["USER"], context.process.variables["LOGNAME"],
            places.home, "/" + directory,
            String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self),
        ].compactMap { $0 }.filter { $0.count > 1 }
    }

    private static func end(of path: String) -> [String] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        let end = (try? file.seekToEnd()) ?? 0
        guard (try? file.seek(toOffset: end > 1 << 18 ? end - (1 << 18) : 0)) != nil, let bytes = try? file.readToEnd()
        else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(SupportBundle.logLimit)
            .map(String.init)
    }

    /// This program's, the kernel's and the distribution's.
    private static var versions: String {
        var system = utsname()
        uname(&system)
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        // A kernel of one's own may have a name behind its numbers.
        let release = text(system.release).prefix { $0.isNumber || $0 == "." }
        let distribution = FileManager.default.contents(atPath: "/etc/os-release").map {
            String(decoding: $0, as: UTF8.self)
        }?
        .split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }?.dropFirst("PRETTY_NAME=".count)
        return """
            synctrain \(ProgramVersion.text)
            \(text(system.sysname)) \(release) \(text(system.machine))
            \(distribution.map { $0.trimmingCharacters(in: ["\""]) } ?? "unknown distribution")

            """
    }

    /// What a stream brings.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }
}
