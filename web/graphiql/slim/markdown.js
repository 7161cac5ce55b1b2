// Markdown takes the place of markdown-it in GraphiQL, which renders descriptions of the
// schema with it. It knows what descriptions use: paragraphs, code, emphasis and links.
export default class Markdown {
  render(text) {
    return text
      .split(/\n\s*\n/)
      .map((paragraph) => `<p>${inline(paragraph.trim())}</p>\n`)
      .join('');
  }
}

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function inline(text) {
  return text
    .split(/(`[^`]+`)/)
    .map((part, place) => (place % 2 ? `<code>${escaped(part.slice(1, -1))}</code>` : words(escaped(part))))
    .join('');
}

const escaped = (text) => text.replaceAll(/[&<>"]/g, (one) => escapes[one]);

function words(text) {
  return text
    .replaceAll(/\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g, '<a href="$2">$1</a>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])/g, '<em>$1</em>');
}
