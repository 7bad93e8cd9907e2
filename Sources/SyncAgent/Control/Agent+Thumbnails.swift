import ControlAPI
import Thumbnails

extension Agent {
    public func thumbnail(_ reference: PathReference) async throws -> [UInt8] {
        try await answering {
            guard startConfiguration.thumbnails.isEnabled else {
                throw ControlError(
                    .thumbnailsOff,
                    "thumbnails are switched off; set `enabled = true` in [thumbnails] and restart the agent")
            }
            let (folder, path) = try resolve(reference)
            guard let found = try await index.global(folder.id, path), found.isPresent,
                let file = try await index.file(folder.id, path)
            else {
                throw ControlError(
                    .noSuchPath, "\(path) is not in the index of \(folder.id); `synctrain search` finds names",
                    path: path)
            }
            guard file.kind == .file, MediaKind.isLikely(path: path), let hash = file.blocksHash,
                let name = ThumbnailName(blocksHash: hash)
            else {
                throw ControlError(
                    .noThumbnail, "\(path): no thumbnail, because its name is not that of a picture or film", path: path
                )
            }
            return try await thumbnails.thumbnail(
                of: ThumbnailSubject(folder: folder.id, file: file, holders: found.holders, name: name))
        }
    }
}
