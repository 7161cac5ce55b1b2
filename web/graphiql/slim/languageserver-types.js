// The constants that graphql-language-service uses of vscode-languageserver-types, which
// cannot be reduced to them. They are those of the Language Server Protocol.
export const InsertTextFormat = { PlainText: 1, Snippet: 2 };
export const InsertTextMode = { asIs: 1, adjustIndentation: 2 };
