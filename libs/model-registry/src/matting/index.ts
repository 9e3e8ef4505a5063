export { mattingFamilies, type MattingNetwork, mattingPixels, readMattingNetwork } from './matting-network.js';
