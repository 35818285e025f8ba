use super::*;

fn text(text: &str) -> Told {
    Told::Text { text: text.into(), joins: false }
}

fn call(id: &str) -> Told {
    Told::Call { id: Some(id.into()), name: "shell".into(), args: "{}".into() }
}

fn result(id: &str) -> Told {
    Told::Result { id: Some(id.into()), output: format!("of {id}"), failed: false, exit_code: None }
}

/// What is done, in a word each.
fn acts(turns: &mut Turns, told: Vec<Told>) -> Vec<String> {
    let mut acts: Vec<Act> = told.into_iter().flat_map(|told| turns.take(told)).collect();
    acts.extend(turns.end());
    acts.iter().map(word).collect()
}

fn word(act: &Act) -> String {
    match act {
        Act::Session(id) => format!("session {id}"),
        Act::Model(name) => format!("model {name}"),
        Act::Answered(turn) => {
            let calls = turn.calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(",");
            format!("{:?}[{calls}]", turn.text)
        }
        Act::Finished(result) if result.output == UNTOLD => format!("{}: untold", result.id),
        Act::Finished(result) => format!("{}: {}", result.id, result.output),
    }
}

#[test]
fn texts_and_calls_of_a_turn_are_one_and_results_end_it() {
    let told = vec![text("I look."), call("a"), call("b"), result("b"), result("a"), text("Done.")];
    let mut turns = Turns::default();
    assert_eq!(acts(&mut turns, told), ["\"I look.\"[a,b]", "b: of b", "a: of a", "\"Done.\"[]"]);
    assert_eq!(turns.last_text, "Done.");
}

#[test]
fn another_turn_is_told_by_its_id_and_pieces_are_joined() {
    let piece = |text: &str| Told::Text { text: text.into(), joins: true };
    let told = vec![
        Told::Turn("1".into()),
        text("One"),
        text("and two"),
        Told::Turn("1".into()),
        piece("."),
        Told::Turn("2".into()),
        piece("Th"),
        piece("ree"),
    ];
    assert_eq!(acts(&mut Turns::default(), told), ["\"One\\n\\nand two.\"[]", "\"Three\"[]"]);
}

#[test]
fn what_comes_out_of_order_is_put_in_order() {
    let mut turns = Turns::default();
    let mut all: Vec<Act> = turns.take(call("a"));
    // It runs: the next call is told later, and answered first.
    all.extend(turns.idle());
    for told in [text("beside"), call("b"), result("b"), result("a"), result("unheard-of"), text("End")] {
        all.extend(turns.take(told));
    }
    all.extend(turns.end());
    let words: Vec<String> = all.iter().map(word).collect();
    assert_eq!(words, ["\"\"[a]", "a: of a", "\"beside\"[b]", "b: of b", "\"End\"[]"]);
}

#[test]
fn a_call_of_which_nothing_is_told_is_answered_all_the_same() {
    let told = vec![call("a"), Told::Turn("2".into()), text("x"), Told::Turn("3".into()), call("b")];
    let words = acts(&mut Turns::default(), told);
    assert_eq!(words, ["\"x\"[a]", "a: untold", "\"\"[b]", "b: untold"]);
}

#[test]
fn ids_are_not_used_twice_and_a_call_that_is_told_twice_is_one() {
    let mut turns = Turns::new(3, UsedBefore::default());
    let told = vec![call("item_1"), call("item_1"), result("item_1"), call("item_2")];
    assert_eq!(
        acts(&mut turns, told),
        ["\"\"[3-item_1]", "3-item_1: of item_1", "\"\"[4-item_2]", "4-item_2: untold"]
    );
    let unnamed = Told::Call { id: None, name: "edit".into(), args: "{}".into() };
    let answered = Told::Result { id: None, output: "ok".into(), failed: false, exit_code: None };
    assert_eq!(acts(&mut Turns::default(), vec![unnamed, answered]), ["\"\"[call00000]", "call00000: ok"]);
}

fn usage(input: u64, of: Span, cost: f64, cost_of: Span) -> Told {
    let tokens = TokenUsage { input_tokens: input, ..TokenUsage::default() };
    Told::Usage { tokens, of, cost: Some(cost), cost_of }
}

fn usages(mut turns: Turns, told: Vec<Told>) -> (Vec<(u64, f64)>, UsedBefore) {
    let mut acts: Vec<Act> = told.into_iter().flat_map(|told| turns.take(told)).collect();
    acts.extend(turns.end());
    let used = acts.iter().filter_map(|act| match act {
        Act::Answered(turn) => turn.usage.map(|usage| (usage.input_tokens, usage.cost_usd.unwrap_or(-1.0))),
        _ => None,
    });
    (used.collect(), turns.used())
}

#[test]
fn sums_are_told_as_what_is_new_in_them() {
    let told = vec![
        usage(10, Span::Turn, 0.25, Span::Turn),
        text("a"),
        Told::Turn("2".into()),
        text("b"),
        usage(30, Span::Call, 0.75, Span::Call),
    ];
    let told = [vec![Told::Turn("1".into())], told].concat();
    assert_eq!(usages(Turns::default(), told).0, [(10, 0.25), (20, 0.5)]);
    let tokens = TokenUsage { input_tokens: 100, ..TokenUsage::default() };
    let before = UsedBefore { tokens, cost: 1.0 };
    let over = |input, cost| vec![text("a"), usage(input, Span::Session, cost, Span::Session)];
    let (told, now) = usages(Turns::new(0, before), over(130, 1.5));
    assert_eq!((told, now.cost, now.tokens.input_tokens), (vec![(30, 0.5)], 1.5, 130));
    // It began anew.
    assert_eq!(usages(Turns::new(0, before), over(40, 0.5)).0, [(40, 0.5)]);
}

#[test]
fn of_a_long_output_the_beginning_and_the_end_are_kept() {
    assert_eq!(shortened("é".repeat(10)), "é".repeat(10));
    let long = shortened(format!("begin{}end", "é".repeat(OUTPUT)));
    assert!(long.starts_with("beginé") && long.ends_with("éend") && long.len() < OUTPUT + 100);
    assert!(long.contains("\n[262154 bytes are left out]\n"));
}

#[test]
fn a_turn_without_an_end_is_not_kept_and_no_answer() {
    let mut turns = Turns::default();
    let piece = || Told::Text { text: "x".repeat(1 << 20), joins: true };
    let mut acts: Vec<Act> = [call("a"), result("a")].into_iter().flat_map(|told| turns.take(told)).collect();
    assert_eq!(turns.refusal(), None);
    acts.extend((0..16).flat_map(|_| turns.take(piece())));
    assert_eq!(turns.refusal(), None);
    acts.extend((0..100).flat_map(|_| turns.take(piece())));
    acts.extend(turns.end());
    let said = acts.iter().map(|act| if let Act::Answered(turn) = act { turn.text.len() } else { 0 });
    assert_eq!(said.sum::<usize>(), TURN);
    assert_eq!(turns.refusal().unwrap(), "one of its turns is longer than 16777216 bytes");
}
