export { PlatformModule, type PlatformModuleOptions } from './platform.module.js';
export { stopSignal } from './stop-signal.js';
