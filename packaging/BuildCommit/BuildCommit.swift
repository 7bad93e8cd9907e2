import Foundation
import PackagePlugin

/// Names the commit that is built, for `synctrain --version`: a Swift file in the build directory, written by
/// `packaging/name-commit` before each build and only if it changes.
@main
struct BuildCommit: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) -> [Command] {
        let root = context.package.directoryURL
        let directory = context.pluginWorkDirectoryURL.appending(path: "Commit")
        return [
            .prebuildCommand(
                displayName: "Name the commit",
                executable: root.appending(path: "packaging/name-commit"),
                arguments: [directory.appending(path: "BuildCommit.swift").path(percentEncoded: false)],
                outputFilesDirectory: directory)
        ]
    }
}
