//! What all judges say together.

use super::*;

fn judge(name: &str, weight: f64, score: Option<f64>) -> RunJudge {
    let error = score.is_none().then(|| "?".to_owned());
    RunJudge {
        name: name.to_owned(),
        score,
        weight,
        data_hash: None,
        error,
        votes: Vec::new(),
        cost_usd: None,
    }
}

#[test]
fn weights_count_and_who_cannot_say_leaves_no_score() {
    let judges = [judge("a", 3.0, Some(1.0)), judge("b", 1.0, Some(0.0)), judge("c", 0.0, None)];
    assert_eq!(overall(Outcome::Scored, None, &judges).overall, Some(0.75));
    let silent = [judge("a", 3.0, Some(1.0)), judge("b", 1.0, None)];
    let scored = overall(Outcome::Scored, None, &silent);
    assert_eq!((scored.outcome, scored.overall), (Outcome::Unscored, None));
    assert_eq!(scored.reason.as_deref(), Some("no score of b"));
}

#[test]
fn a_workflow_that_failed_has_what_its_judges_say_or_nothing() {
    let why = || Some("it made 5 steps".to_owned());
    let scored = overall(Outcome::Failed, why(), &[judge("a", 1.0, Some(0.5))]);
    assert_eq!((scored.outcome, scored.overall, scored.reason), (Outcome::Failed, Some(0.5), why()));
    assert_eq!(overall(Outcome::Error, why(), &[]).overall, None);
    // Nothing to judge is 0 for that judge, and an error of a judge no score.
    let nothing = RunJudge { error: None, ..judge("b", 1.0, None) };
    let half = overall(Outcome::Failed, why(), &[judge("a", 1.0, Some(0.5)), nothing.clone()]);
    assert_eq!((half.outcome, half.overall), (Outcome::Failed, Some(0.25)));
    assert_eq!(overall(Outcome::Scored, None, &[nothing]).outcome, Outcome::Unscored);
    let broken = overall(Outcome::Failed, why(), &[judge("a", 1.0, None)]);
    assert_eq!((broken.outcome, broken.overall), (Outcome::Unscored, None));
    assert_eq!(broken.reason.as_deref(), Some("it made 5 steps; no score of a"));
}

#[test]
fn what_no_store_takes_is_the_judge_s_own_failure() {
    use uwf_engine::builtin::PROFILE;

    let store = Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap();
    let records = Records::register(&store).unwrap();
    let deep = (0..125).fold(Value::Null, |inner, _| Value::from(vec![inner]));
    let why = |type_: &Hash, found: &Value| untaken(store.put(type_, found).unwrap_err());
    assert!(matches!(why(&records.data, &deep), Silent::Error(why) if why.contains("nested too deeply")));
    let text = store.put(&META_SCHEMA, &serde_json::json!({"type": "string"})).unwrap();
    assert!(matches!(why(&text, &Value::from(1)), Silent::Error(_)));
    // Of a type that is not there nothing can be kept, by whatever judge.
    assert!(matches!(why(&Hash::of_self(&Value::from("none")), &Value::Null), Silent::Broken(_)));
    assert!(matches!(Silent::Error(String::new()).paid(Some(0.5)), Silent::Paid(_, Some(_))));
}
