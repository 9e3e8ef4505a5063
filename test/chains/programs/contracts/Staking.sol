// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Records stakes as staking tokens do: what an address has staked is its balance here, with 18 decimals.
contract Staking {
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;

    event Staked(address indexed owner, uint256 value);
    event Unstaked(address indexed owner, uint256 value);

    /// Stakes for any address, so that a test needs no funds of it.
    function stake(address owner, uint256 value) external {
        balanceOf[owner] += value;
        emit Staked(owner, value);
    }

    function unstake(address owner, uint256 value) external {
        require(balanceOf[owner] >= value, "less is staked");
        balanceOf[owner] -= value;
        emit Unstaked(owner, value);
    }
}
