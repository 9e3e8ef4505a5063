import { DocumentFault } from '../document-fault.js';
import { maxXmlDepth } from '../document-limits.js';

/** A node, as far as it is needed. */
interface TreeNode {
  firstChild: TreeNode | null;
  nextSibling: TreeNode | null;
  parentNode: TreeNode | null;
}

interface TreeElement {
  remove(): void;
  getAttribute(name: string): string | null;
  removeAttribute(name: string): void;
}

interface Tree extends TreeNode {
  querySelectorAll(selector: string): Iterable<TreeElement>;
}

const frames = 'iframe, frame, frameset, object, embed, applet, portal';
const plainProtocols: readonly string[] = ['http:', 'https:', 'mailto:', 'tel:'];

/**
 * Throws `DocumentFault` for a tree that is nested too deeply. The DOM also nests elements that the reader before it
 * closes, such as links that are not closed, and what follows takes a time that grows with the square of the depth.
 */
export function checkDepth(root: TreeNode): void {
  let depth = 0;
  for (let node: TreeNode | null = root; node !== null;) {
    if (node.firstChild !== null) {
      node = node.firstChild;
      depth += 1;
      if (depth > maxXmlDepth) throw new DocumentFault('is nested too deeply');
      continue;
    }
    while (node !== null && node !== root && node.nextSibling === null) {
      node = node.parentNode;
      depth -= 1;
    }
    node = node === null || node === root ? null : node.nextSibling;
  }
}

/** Removes frames and what plugins show, and the targets of links that run scripts: Markdown may hold both. */
export function removeActiveContent(tree: Tree, base: string): void {
  for (const frame of [...tree.querySelectorAll(frames)]) frame.remove();
  for (const link of tree.querySelectorAll('[href]')) {
    const href = link.getAttribute('href') ?? '';
    const isPlain = URL.canParse(href, base) && plainProtocols.includes(new URL(href, base).protocol);
    if (!isPlain) link.removeAttribute('href');
  }
}
