import Cryptography
import Foundation
import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// The bytes in Vectors/golden.json, and the events that their descriptions call for.
enum Golden {
    static let vectors: [GoldenVector] = {
        guard let url = Bundle.module.url(forResource: "golden", withExtension: "json", subdirectory: "Vectors") else {
            return []
        }
        return (try? GoldenVector.load(url)) ?? []
    }()

    static func named(_ name: String) throws -> GoldenVector { try #require(vectors.first { $0.name == name }) }

    /// What must have been read before.
    static func stage(of vector: GoldenVector) -> Peer.Stage {
        switch vector.what["type"].string {
        case "": .hello
        case "ClusterConfig", "Close": .clusterConfig
        default: .messages
        }
    }

    static func events(of vector: GoldenVector) throws -> [ConnectionEvent] {
        let message = vector.what["message"]
        switch vector.what["type"].string {
        case "":
            return [
                .hello(
                    Hello(
                        deviceName: vector.what["device_name"].string, clientName: vector.what["client_name"].string,
                        clientVersion: vector.what["client_version"].string))
            ]
        case "ClusterConfig": return [.clusterConfig(try clusterConfig(message))]
        case "Index", "IndexUpdate":
            return [
                .index(
                    IndexBatch(
                        folder: FolderID(message["folder"].string), files: try message["files"].array.map(fileInfo),
                        isFullIndex: vector.what["type"].string == "Index"))
            ]
        case "Request":
            return [
                .request(
                    id: Int32(message["id"].int),
                    BlockRequest(
                        folder: FolderID(message["folder"].string), name: message["name"].string,
                        offset: message["offset"].int, size: Int32(message["size"].int),
                        hash: SHA256Digest(message["hash"].bytes),
                        weakHash: UInt32(message["weak_hash"].int), blockIndex: Int32(message["block_no"].int)))
            ]
        case "Response":
            return [
                .response(
                    BlockResponse(
                        id: Int32(message["id"].int), data: ByteBuffer(bytes: message["data"].bytes),
                        code: try #require(ResponseCode(rawValue: Int32(message["code"].int)))))
            ]
        case "DownloadProgress":
            return [
                .downloadProgress(
                    DownloadProgress(
                        folder: FolderID(message["folder"].string),
                        updates: try message["updates"].array.map { update in
                            DownloadProgress.Update(
                                kind: try #require(
                                    DownloadProgress.Update.Kind(rawValue: Int32(update["update_type"].int))),
                                name: update["name"].string, version: version(update["version"]),
                                blockIndexes: update["block_indexes"].array.map { Int32($0.int) },
                                blockSize: Int32(update["block_size"].int))
                        }))
            ]
        case "Ping": return []
        case "Close": return [.closed(reason: message["reason"].string)]
        case let other:
            Issue.record("golden.json has a vector of the type \(other)")
            return []
        }
    }

    private static func version(_ json: JSONValue) -> VersionVector {
        VersionVector(
            json["counters"].array.map {
                VersionVector.Counter(id: ShortID(rawValue: $0["id"].unsigned), value: $0["value"].unsigned)
            })
    }

    private static func clusterConfig(_ json: JSONValue) throws -> ClusterConfig {
        ClusterConfig(
            folders: try json["folders"].array.map { folder in
                ClusterConfig.Folder(
                    id: FolderID(folder["id"].string), label: folder["label"].string,
                    devices: try folder["devices"].array.map { device in
                        ClusterConfig.Device(
                            id: DeviceID(digest: try #require(SHA256Digest(device["id"].bytes))),
                            name: device["name"].string, addresses: device["addresses"].array.map(\.string),
                            compression: try #require(CompressionPolicy(rawValue: Int32(device["compression"].int))),
                            maxSequence: device["max_sequence"].int,
                            indexID: IndexID(rawValue: device["index_id"].unsigned))
                    })
            })
    }

    private static func fileInfo(_ json: JSONValue) throws -> FileInfo {
        var file = FileInfo(
            name: json["name"].string, kind: try #require(FileInfo.Kind(rawValue: Int32(json["type"].int))),
            size: json["size"].int, permissions: UInt32(json["permissions"].int),
            modifiedSeconds: json["modified_s"].int, modifiedNanoseconds: Int32(json["modified_ns"].int),
            isDeleted: json["deleted"].bool, isInvalid: json["invalid"].bool,
            hasNoPermissions: json["no_permissions"].bool, version: version(json["version"]),
            sequence: json["sequence"].int, modifiedBy: ShortID(rawValue: json["modified_by"].unsigned),
            blockSize: Int32(json["block_size"].int), symlinkTarget: Array(json["symlink_target"].string.utf8))
        file.blocks = try json["blocks"].array.map { block in
            BlockInfo(
                offset: block["offset"].int, size: Int32(block["size"].int),
                hash: try #require(SHA256Digest(block["hash"].bytes)), weakHash: UInt32(block["weak_hash"].int))
        }
        file.blocksHash = FileInfo.blocksHash(of: file.blocks)
        return file
    }
}

extension GoldenVector {
    /// The bytes of the body within the frame, packed if it was packed.
    var frameBody: [UInt8] { what["type"].string.isEmpty ? [] : Array(bytes.dropFirst(what["headerLength"].asInt + 6)) }
}

extension JSONValue {
    var asInt: Int { Int(int) }
}
