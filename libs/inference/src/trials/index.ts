export { choosingLauncher } from './choosing-launcher.js';
export { judgeRecord, ProviderChooser, refuseDevice, softwareNote, trialKey } from './provider-chooser.js';
export { findProviderDevices, type ProviderDevices, withoutAbsent } from './provider-devices.js';
export { TrialStore } from './trial-store.js';
