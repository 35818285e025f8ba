use super::*;

#[test]
fn arguments_are_an_object_also_where_there_are_none() {
    assert_eq!(object(" ").unwrap().len(), 0);
    assert_eq!(object(r#"{"a": 1}"#).unwrap()["a"], 1);
    assert_eq!(object("[1]").unwrap_err(), "its arguments must be an object");
    assert!(object("{").unwrap_err().contains("EOF"));
}

#[test]
fn without_servers_nothing_is_started() {
    let none = ServerTools::default();
    assert_eq!((none.declarations().count(), none.has("a__b"), none.may_change()), (0, false, false));
    assert_eq!(none.reads_only("a__b"), None);
    none.end(false);
}
