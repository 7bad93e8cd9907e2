import CFuse
import Glibc
import MountRules

/// What the kernel asks of a file system that is mounted for writing.
extension Operations {
    static func addChanges(to operations: inout fuse_lowlevel_ops) {
        operations.create = { request, parent, name, mode, info in
            guard let request, let name, let info, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).refuses(Request(raw: request)) else { return }
            mount.create(Request(raw: request), UInt64(parent), name, mode, info.pointee)
        }
        operations.write = { request, node, bytes, count, offset, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).refuses(Request(raw: request)) else { return }
            mount.write(
                Request(raw: request), UInt64(node),
                UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), Int64(offset), info.pointee)
        }
        // No `flush`: errors of writes were answers to them, and the network is not waited for. The kernel asks once.
        operations.fsync = { request, node, _, info in
            guard let request, let info, let mount = Mount.of(request) else { return }
            mount.synchronize(Request(raw: request), UInt64(node), info.pointee.fh)
        }
        operations.fsyncdir = { request, node, _, _ in
            guard let request, let mount = Mount.of(request) else { return }
            mount.synchronizeDirectory(Request(raw: request), UInt64(node))
        }
        operations.setattr = { request, node, wanted, which, info in
            guard let request, let wanted, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).answers(Request(raw: request), settingOf: UInt64(node), which) else {
                return
            }
            mount.setAttributes(
                Request(raw: request), UInt64(node), wanted.pointee, which, info?.pointee.fh)
        }
        operations.mkdir = { request, parent, name, mode in
            guard let request, let name, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).answers(Request(raw: request), .make(.directory), UInt64(parent), name)
            else { return }
            mount.makeDirectory(Request(raw: request), UInt64(parent), name, mode)
        }
        operations.symlink = { request, target, parent, name in
            guard let request, let name, let target, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).answers(Request(raw: request), .make(.symlink), UInt64(parent), name)
            else { return }
            mount.makeSymlink(Request(raw: request), UInt64(parent), name, to: target)
        }
        operations.unlink = { request, parent, name in
            guard let request, let name, let mount = Mount.of(request) else { return }
            let call = ExpectedCall.Call.remove(isDirectory: false)
            guard !CalledChanges(mount: mount).answers(Request(raw: request), call, UInt64(parent), name) else {
                return
            }
            mount.remove(Request(raw: request), UInt64(parent), name, isDirectory: false)
        }
        operations.rmdir = { request, parent, name in
            guard let request, let name, let mount = Mount.of(request) else { return }
            let call = ExpectedCall.Call.remove(isDirectory: true)
            guard !CalledChanges(mount: mount).answers(Request(raw: request), call, UInt64(parent), name) else {
                return
            }
            mount.remove(Request(raw: request), UInt64(parent), name, isDirectory: true)
        }
        operations.rename = { request, parent, name, newParent, newName, flags in
            guard let request, let name, let newName, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).refuses(Request(raw: request)) else { return }
            mount.rename(Request(raw: request), UInt64(parent), name, UInt64(newParent), newName, flags)
        }
        // Pipes, sockets and devices are not synced, and second names of a file are files of their own.
        operations.mknod = { request, parent, name, mode, _ in
            guard let request, let name, let mount = Mount.of(request) else { return }
            let call: ExpectedCall.Call = mode & S_IFMT == Glibc.S_IFREG ? .make(.file) : .other
            guard !CalledChanges(mount: mount).answers(Request(raw: request), call, UInt64(parent), name) else {
                return
            }
            fuse_reply_err(request, EPERM)
        }
        operations.link = { request, _, _, _ in fuse_reply_err(request, EPERM) }
        operations.setxattr = { request, node, name, value, size, _ in
            guard let request, let name, let mount = Mount.of(request) else { return }
            guard !CalledChanges(mount: mount).refuses(Request(raw: request)) else { return }
            mount.setAttribute(
                Request(raw: request), UInt64(node), String(cString: name),
                UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : size))
        }
        operations.removexattr = { request, _, _ in fuse_reply_err(request, EOPNOTSUPP) }
    }
}
