/** Names of the formats of linear layers in manifest options. */
export const weightFormats = ['float32', 'int8', 'int8-channel', 'int4'] as const;
export type WeightFormat = (typeof weightFormats)[number];
