/** Anchor of a heading, as GitHub makes it; markdown-it numbers repeated ones the same way. */
export const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
