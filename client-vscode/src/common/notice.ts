// Texts of others in the editor's notifications, which would make links (also of commands) out of `[…](…)`.

/** The same words, and nothing that the editor would take for a link. */
export function plainNotice(text: string): string {
  return text.replaceAll('](', ']\u200b(');
}
