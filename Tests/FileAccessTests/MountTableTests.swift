import Testing

@testable import FileAccess

@Suite struct MountTableTests {
    private static let text = Array(
        """
        22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
        65 22 0:39 / /home/anna/Photos rw,relatime shared:1 - tmpfs none rw
        66 65 0:40 / /home/anna/Photos/disk rw - tmpfs none rw
        67 65 0:41 / /home/anna/Photos/an\\040old\\134disk/x rw - tmpfs none rw
        68 22 0:42 / /home/anna/Photoshop rw - tmpfs none rw
        69 22 0:43 / /home/anna/Photos/\\377 rw - tmpfs none rw
        70 65 0:44 / /home/anna/Photos/disk rw - tmpfs over rw
        71 65
        """.utf8)

    @Test func namesAreThoseBelowTheRoot() {
        #expect(MountTable.names(in: Self.text, below: "/home/anna/Photos") == ["disk", "an old\\disk/x"])
        #expect(MountTable.names(in: Self.text, below: "/home/anna/Photos/disk") == [])
        #expect(MountTable.names(in: Self.text, below: "/srv") == [])
        #expect(MountTable.names(in: Self.text, below: "/").contains("home/anna/Photoshop"))
    }

    /// A bind mount has in its fourth word what of the file system it shows.
    @Test(arguments: [
        ("/", "8:1", ""), ("/srv/a", "8:1", "/srv/a"), ("/home/anna/Photos", "0:39", ""),
        ("/home/anna/Photos/x", "0:39", "/x"), ("/home/anna/Photos/disk/y", "0:44", "/y"),
        ("/home/anna/Photoshop", "0:42", ""), ("/mnt/a b/2026", "8:1", "/srv/a b/2026"),
        ("/mnt/a bc", "8:1", "/mnt/a bc"),
    ])
    func aPlaceIsKnownByItsFileSystem(path: String, device: String, expected: String) {
        let bind = Array("\n72 22 8:1 /srv/a\\040b /mnt/a\\040b rw - ext4 /dev/sda1 rw\n".utf8)
        let origin = MountTable.origin(of: path, in: Self.text + bind)
        #expect(origin == MountTable.Origin(device: device, path: Array(expected.utf8)))
        #expect(MountTable.origin(of: path, in: []) == nil)
    }

    @Test func theKernelsListIsRead() {
        #expect(MountTable.names(below: "/")?.contains("proc") == true)
        #expect(MountTable.names(below: "/nowhere/at/all") == nil)
    }
}
