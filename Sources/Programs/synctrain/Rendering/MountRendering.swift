import ControlAPI
import Phrases

/// Where folders are mounted, and who reads there.
struct MountRendering: Sendable {
    var style: Style

    func lines(_ mounts: [MountStatus]) -> [String] {
        var lines = Table.lines(
            mounts.map { [style.name($0.folder), Self.state($0), style.name($0.directory), remark($0)] },
            width: style.width)
        for mount in mounts {
            if let problem = mount.problem { lines.append("\(style.name(mount.folder)): \(style.name(problem.shown))") }
            for reader in mount.readers {
                lines.append(
                    translated(
                        "\(style.name(mount.folder)): \(style.name(reader.program)) (\(reader.process)) reads \(style.name(reader.path)), \(Quantity.size(reader.bytes)) of \(Quantity.files(reader.files)), \(Quantity.rate(reader.bytesPerSecond))"
                    ))
            }
            if mount.moreReaders > 0 {
                lines.append(translated("\(style.name(mount.folder)): more programs that read: \(mount.moreReaders)"))
            }
        }
        return lines
    }

    private static func state(_ mount: MountStatus) -> String {
        switch mount.state {
        case "mounted": translated("mounted")
        case "not-answering": translated("does not answer")
        default: translated("not mounted")
        }
    }

    private func remark(_ mount: MountStatus) -> String {
        [
            mount.since.map { translated("since \(Timestamp.local($0))") },
            mount.isReadOnly ? translated("read-only") : nil,
            mount.isConfigured ? translated("whenever the agent starts") : nil,
        ].compactMap { $0 }.joined(separator: ", ")
    }
}
