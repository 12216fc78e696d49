/** The comments under one list element, by id: no comment is shown twice in it. */

export interface CommentScope<View> {
  readonly list: HTMLOListElement;
  readonly views: Map<string, View>;
}
