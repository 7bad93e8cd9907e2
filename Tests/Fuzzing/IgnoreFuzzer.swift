// Built together with the sources of Selection into one program by `Tests/Fuzzing/run`.

/// Feeds a file to the parser, the compiled matcher, the walk and the editor, and stops the process where they break
/// a promise: bytes round-trip, a kept path's directories are opened, an edit does what it says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIgnoreFile(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeBufferPointer(start: data, count: count)
    guard let file = try? IgnoreFile(parsing: bytes) else { return 0 }
    precondition(file.bytes.elementsEqual(bytes), "a parsed file has other bytes")

    // Included files are cut from the same input, so that nesting and repetition happen too.
    let include = { (name: String) in String(decoding: bytes.dropFirst(name.utf8.count), as: UTF8.self) }
    guard let selection = try? Selection(file, include: include) else { return 0 }

    var paths = ["a", "a/b", "a/b/c.txt", ".stignore", "x/.syncthing.y", "Ü/ß", ""]
    // The lines themselves are paths close to what the patterns match.
    paths += selection.patterns.prefix(8).map(\.text)
    paths += selection.patterns.prefix(8).compactMap(\.literalPath)
    for path in paths {
        let explanation = selection.explain(path)
        precondition(explanation.decision == selection.decision(for: path), "two answers to one question")
        guard !explanation.decision.isIgnored, isCanonical(path) else { continue }
        let components = path.split(separator: "/")
        for depth in components.indices {
            let directory = components[..<depth].joined(separator: "/")
            precondition(
                selection.mayContainSelected(directory), "a walk does not reach \(path) through \(directory)")
        }
    }

    let editor = SelectionEditor(file, include: include)
    for path in paths.prefix(3) {
        if let edit = try? editor.selecting(path) {
            precondition(
                (try? Selection(edit.file, include: include))?.isIgnored(path) == false, "a selected path is ignored")
        }
        if let edit = try? editor.deselecting(path) {
            precondition(
                (try? Selection(edit.file, include: include))?.isIgnored(path) == true, "a deselected path is kept")
        }
    }
    _ = try? editor.convertedToFull()
    _ = try? editor.convertedToSelective(selecting: ["a/b"])
    return 0
}

/// Whether the path has the form that the matcher's promises are made for.
private func isCanonical(_ path: String) -> Bool {
    !path.isEmpty
        && path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { component in
            !component.isEmpty && !component.elementsEqual(".".utf8) && !component.elementsEqual("..".utf8)
        }
}
