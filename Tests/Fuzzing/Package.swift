// swift-tools-version: 6.2
import PackageDescription

// The codec of BEP and the machine of pairing as libFuzzer targets. A package of its own, over the same sources: every
// file of it is built with the fuzzer's instrumentation, which the programs of the root package must not have. `run`
// builds and runs it.
let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")

func fuzzer(_ name: String, of dependencies: [Target.Dependency] = ["BlockExchange", nio]) -> Target {
    // libFuzzer has the main function: without -parse-as-library Swift would make one, too.
    .executableTarget(
        name: name, dependencies: dependencies, path: "Targets/\(name)",
        swiftSettings: [.unsafeFlags(["-parse-as-library"])])
}

let package = Package(
    name: "fuzzing",
    dependencies: [.package(url: "https://github.com/apple/swift-nio", from: "2.101.2")],
    targets: [
        .systemLibrary(name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "libcrypto"),
        .systemLibrary(name: "CLZ4", path: "Sources/CLZ4", pkgConfig: "liblz4"),
        .target(name: "Cryptography", dependencies: ["COpenSSL"]),
        .target(name: "BlockExchange", dependencies: ["Cryptography", "CLZ4", nio]),
        .target(name: "Phrases"),
        .target(name: "Pairing", dependencies: ["Cryptography", "Phrases"]),
        fuzzer("FrameFuzzer"),
        fuzzer("LZ4Fuzzer"),
        fuzzer("FileInfoFuzzer"),
        fuzzer("PairingFuzzer", of: ["Pairing", "Cryptography"]),
    ]
)
