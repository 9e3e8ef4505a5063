// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

interface ISignatureWallet {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4);
}

/// A token of six decimals with transfers by signature (EIP-3009), with the functions, events and refusals of the
/// dollar token that payments are made in. Anybody may mint.
contract PaymentToken {
    string public name;
    string public version;
    string public constant symbol = "USDC";
    uint8 public constant decimals = 6;
    uint256 public totalSupply;

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => mapping(bytes32 => bool)) private used;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    constructor(string memory name_, string memory version_) {
        initialize(name_, version_);
    }

    /// Names the token; of a copy whose code was written to an address without running its constructor.
    function initialize(string memory name_, string memory version_) public {
        name = name_;
        version = version_;
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                block.chainid,
                address(this)
            )
        );
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "ERC20: transfer amount exceeds allowance");
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        return used[authorizer][nonce];
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferSigned(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        transferSigned(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        bytes32 typeHash = RECEIVE_WITH_AUTHORIZATION_TYPEHASH;
        spend(typeHash, from, to, value, validAfter, validBefore, nonce, signature);
        move(from, to, value);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external {
        require(!used[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 digest = digestOf(keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)));
        require(isSignedBy(authorizer, digest, signature), "FiatTokenV2: invalid signature");
        used[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function transferSigned(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private {
        bytes32 typeHash = TRANSFER_WITH_AUTHORIZATION_TYPEHASH;
        spend(typeHash, from, to, value, validAfter, validBefore, nonce, signature);
        move(from, to, value);
    }

    function spend(
        bytes32 typeHash,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        require(!used[from][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 digest = digestOf(keccak256(abi.encode(typeHash, from, to, value, validAfter, validBefore, nonce)));
        require(isSignedBy(from, digest, signature), "FiatTokenV2: invalid signature");
        used[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
    }

    /// Overridden by tokens that move something else than they were asked to.
    function move(address from, address to, uint256 value) internal virtual {
        require(to != address(0), "ERC20: transfer to the zero address");
        require(balanceOf[from] >= value, "ERC20: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function digestOf(bytes32 structHash) private view returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash));
    }

    function isSignedBy(address signer, bytes32 digest, bytes memory signature) private view returns (bool) {
        if (signer.code.length > 0) {
            try ISignatureWallet(signer).isValidSignature(digest, signature) returns (bytes4 answer) {
                return answer == ISignatureWallet.isValidSignature.selector;
            } catch {
                return false;
            }
        }
        if (signature.length != 65) return false;
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        // The upper half of s would make a second signature of every signature.
        if (uint256(s) > 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0) return false;
        address recovered = ecrecover(digest, v, r, s);
        return recovered != address(0) && recovered == signer;
    }
}

/// Keeps one percent of every transfer: its receiver gets less than was signed.
contract FeeToken is PaymentToken {
    constructor(string memory name_, string memory version_) PaymentToken(name_, version_) {}

    function move(address from, address to, uint256 value) internal override {
        uint256 fee = value / 100;
        super.move(from, to, value - fee);
        super.move(from, address(this), fee);
    }
}

/// Accepts every authorization and moves nothing.
contract HollowToken is PaymentToken {
    constructor(string memory name_, string memory version_) PaymentToken(name_, version_) {}

    function move(address, address, uint256) internal override {}
}
