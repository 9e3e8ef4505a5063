export { ApiKeysController } from './api-keys.controller.js';
export { Web3KeysController } from './web3-keys.controller.js';
