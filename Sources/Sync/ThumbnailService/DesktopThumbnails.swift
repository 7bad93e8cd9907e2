import AsyncTools
import Fetching
import FileAccess
import Foundation
import Thumbnails

/// Thumbnails where the desktop's file managers look for them, so that they need not read the files.
package struct DesktopThumbnails: Sendable {
    private let board: ThumbnailBoard
    /// `thumbnails` in the user's cache directory, absolute.
    private let directory: String
    private let threads: any DiskThreads

    package init(_ board: ThumbnailBoard, directory: String, threads: any DiskThreads) {
        (self.board, self.directory, self.threads) = (board, directory, threads)
    }

    /// Has the desktop find a thumbnail of a file. False if it finds none.
    ///
    /// - Throws: what `ThumbnailBoard.thumbnail(of:)` throws.
    package func offer(_ subject: ThumbnailSubject, as place: DesktopThumbnail) async throws -> Bool {
        let thumbnail = try await board.thumbnail(of: subject)
        guard let picture = try await board.png(of: thumbnail), let labelled = place.labelled(picture) else {
            return false
        }
        return try await threads.runIfActive { [directory] in
            let root = try RootDirectory(creating: directory, permissions: 0o700)
            return ThumbnailCache.write(
                labelled, to: "large/" + place.name, in: root, permissions: 0o600, durability: .deferred)
        }
    }

    /// Removes the notes of file managers that they could not make these, so that they try again.
    ///
    /// - Throws: `CancellationError`.
    package func forgetFailures(of places: [DesktopThumbnail]) async throws {
        try await threads.runIfActive { [directory] in
            let notes = directory + "/fail"
            // Each program has a directory of its own; most desktops have none at all.
            for program in (try? FileManager.default.contentsOfDirectory(atPath: notes)) ?? [] {
                for place in places { unlink("\(notes)/\(program)/\(place.name)") }
            }
        }
    }
}
