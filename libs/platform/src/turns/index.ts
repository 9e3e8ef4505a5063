export { AccountSlots, type SlotLimits } from './account-slots.js';
export { within } from './within.js';
